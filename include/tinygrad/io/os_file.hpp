// The few calls to the operating system that files need, behind one small class: POSIX and Windows.
//
// Paths are UTF-8 on every system. What the system refuses is an io_error with the path and the system's own words.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <utility>

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#endif

namespace tinygrad::inline TINYGRAD_ABI {
namespace detail {

/// Throws io_error "[doing] path: the reason the last system call gave".
[[noreturn]] TINYGRAD_COLD inline void throw_io(const std::string& doing, const std::string& path) {
#ifdef _WIN32
  const std::error_code reason(static_cast<int>(::GetLastError()), std::system_category());
#else
  const std::error_code reason(errno, std::generic_category());
#endif
  throw io_error("[" + doing + "] " + path + ": " + reason.message());
}

/// No single system call moves more than this: Linux stops at 2 GiB less a page, Windows counts in 32 bits.
inline constexpr std::size_t largest_transfer = std::size_t{1} << 30;

#ifdef _WIN32

[[nodiscard]] inline std::wstring wide_path(const std::string& path) {
  const auto bytes = static_cast<int>(path.size());
  const int length = ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path.data(), bytes, nullptr, 0);
  if (length <= 0) throw_io("open", path);
  std::wstring wide(static_cast<std::size_t>(length), L'\0');
  ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path.data(), bytes, wide.data(), length);
  return wide;
}

/// An open file; closed with its scope.
class os_file {
 public:
  static os_file open(const std::string& path) {
    const HANDLE handle =
        ::CreateFileW(wide_path(path).c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                      nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
    if (handle == INVALID_HANDLE_VALUE) throw_io("open", path);
    return os_file(handle, path);
  }
  /// Makes the file `path`, which must not exist; false in `made` when it does. Errors speak of `target`, the file
  /// that the caller is really writing.
  static os_file create(const std::string& path, std::string target, bool& made) {
    const HANDLE handle =
        ::CreateFileW(wide_path(path).c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
    made = handle != INVALID_HANDLE_VALUE;
    if (!made && ::GetLastError() != ERROR_FILE_EXISTS) throw_io("write", target);
    return os_file(handle, std::move(target));
  }

  os_file(os_file&& other) noexcept
      : handle_(std::exchange(other.handle_, INVALID_HANDLE_VALUE)), path_(std::move(other.path_)) {}
  os_file& operator=(os_file&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~os_file() {
    if (handle_ != INVALID_HANDLE_VALUE) ::CloseHandle(handle_);
  }

  [[nodiscard]] bool is_regular() const noexcept { return ::GetFileType(handle_) == FILE_TYPE_DISK; }
  [[nodiscard]] std::uint64_t size() const {
    LARGE_INTEGER bytes;
    if (::GetFileSizeEx(handle_, &bytes) == 0) throw_io("open", path_);
    return static_cast<std::uint64_t>(bytes.QuadPart);
  }
  /// Reads up to `count` bytes; 0 only at the end.
  std::size_t read(void* to, std::size_t count) {
    DWORD done = 0;
    const auto part = static_cast<DWORD>(count < largest_transfer ? count : largest_transfer);
    if (::ReadFile(handle_, to, part, &done, nullptr) == 0 && ::GetLastError() != ERROR_BROKEN_PIPE)
      throw_io("read", path_);
    return done;
  }
  void write(const void* from, std::size_t count) {
    const char* p = static_cast<const char*>(from);
    while (count > 0) {
      DWORD done = 0;
      const auto part = static_cast<DWORD>(count < largest_transfer ? count : largest_transfer);
      if (::WriteFile(handle_, p, part, &done, nullptr) == 0) throw_io("write", path_);
      p += done;
      count -= done;
    }
  }
  /// Flushes to the disk and closes; what a delayed write could not do is reported here.
  void sync_and_close() {
    if (::FlushFileBuffers(handle_) == 0) throw_io("write", path_);
    if (::CloseHandle(std::exchange(handle_, INVALID_HANDLE_VALUE)) == 0) throw_io("write", path_);
  }
  void close() noexcept {
    if (handle_ != INVALID_HANDLE_VALUE) ::CloseHandle(std::exchange(handle_, INVALID_HANDLE_VALUE));
  }
  void copy_mode_of(const std::string&) noexcept {}  // permissions are inherited from the folder

  /// Maps `bytes` (> 0) of the file read-only; null when the system cannot.
  [[nodiscard]] const std::byte* map(std::size_t bytes) const noexcept {
    const HANDLE mapping = ::CreateFileMappingW(handle_, nullptr, PAGE_WRITECOPY, 0, 0, nullptr);
    if (mapping == nullptr) return nullptr;
    const void* view = ::MapViewOfFile(mapping, FILE_MAP_COPY, 0, 0, bytes);
    ::CloseHandle(mapping);  // the view keeps the mapping alive
    return static_cast<const std::byte*>(view);
  }
  static void unmap(const std::byte* view, std::size_t) noexcept { ::UnmapViewOfFile(view); }
  static void prefetch(const std::byte*, std::size_t) noexcept {}

 private:
  os_file(HANDLE handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  HANDLE handle_;
  std::string path_;
};

/// True when `path` names something that exists and is no ordinary file (a folder, a device).
[[nodiscard]] inline bool is_special_file(const std::string& path) {
  const DWORD attributes = ::GetFileAttributesW(wide_path(path).c_str());
  return attributes != INVALID_FILE_ATTRIBUTES &&
         (attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE)) != 0;
}
[[nodiscard]] inline bool file_exists(const std::string& path) {
  return ::GetFileAttributesW(wide_path(path).c_str()) != INVALID_FILE_ATTRIBUTES;
}
/// Puts `from` in the place of `to`. Windows refuses while a program has `to` mapped; `to` is then unchanged.
inline void rename_file(const std::string& from, const std::string& to) {
  if (::MoveFileExW(wide_path(from).c_str(), wide_path(to).c_str(),
                    MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) == 0)
    throw_io("rename", to);
}
inline void remove_file(const std::string& path) noexcept {
  try {
    ::DeleteFileW(wide_path(path).c_str());
  } catch (...) {  // out of memory while cleaning up: the temporary file stays
  }
}
inline void sync_folder_of(const std::string&) noexcept {}
[[nodiscard]] inline std::uint64_t process_number() noexcept { return ::GetCurrentProcessId(); }
inline constexpr const char* path_separators = "/\\";

#else

/// An open file; closed with its scope.
class os_file {
 public:
  static os_file open(const std::string& path) {
    int descriptor = -1;
    do descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) throw_io("open", path);
    os_file file(descriptor, path);
    if (S_ISDIR(file.status().st_mode)) {
      errno = EISDIR;
      throw_io("open", path);
    }
    return file;
  }
  /// Makes the file `path`, which must not exist; false in `made` when it does. Errors speak of `target`, the file
  /// that the caller is really writing.
  static os_file create(const std::string& path, std::string target, bool& made) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    made = descriptor >= 0;
    if (!made && errno != EEXIST) throw_io("write", target);
    return os_file(descriptor, std::move(target));
  }

  os_file(os_file&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}
  os_file& operator=(os_file&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~os_file() { close(); }

  [[nodiscard]] bool is_regular() const { return S_ISREG(status().st_mode); }
  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(status().st_size); }
  /// Reads up to `count` bytes; 0 only at the end.
  std::size_t read(void* to, std::size_t count) {
    while (true) {
      const auto done = ::read(descriptor_, to, count < largest_transfer ? count : largest_transfer);
      if (done >= 0) return static_cast<std::size_t>(done);
      if (errno != EINTR) throw_io("read", path_);
    }
  }
  void write(const void* from, std::size_t count) {
    const char* p = static_cast<const char*>(from);
    while (count > 0) {
      const auto done = ::write(descriptor_, p, count < largest_transfer ? count : largest_transfer);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) throw_io("write", path_);
      p += done;
      count -= static_cast<std::size_t>(done);
    }
  }
  /// Flushes to the disk and closes; what a delayed write could not do is reported here.
  void sync_and_close() {
    while (::fsync(descriptor_) != 0) {
      if (errno == EINVAL || errno == ENOTSUP) break;  // a file system that has no such thing
      if (errno != EINTR) throw_io("write", path_);
    }
    if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) throw_io("write", path_);
  }
  void close() noexcept {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  /// Takes over the permissions of `path` when it exists. Best effort: a file of someone else's may forbid it.
  void copy_mode_of(const std::string& path) noexcept {
    struct stat found;
    if (::stat(path.c_str(), &found) == 0) static_cast<void>(::fchmod(descriptor_, found.st_mode & 07777) == 0);
  }

  /// Maps `bytes` (> 0) of the file; null when the system cannot (a pipe, a file system without mmap). The mapping is
  /// private and copied on write: weights that look into it may be trained without the file noticing.
  [[nodiscard]] const std::byte* map(std::size_t bytes) const noexcept {
    void* view = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor_, 0);
    return view == MAP_FAILED ? nullptr : static_cast<const std::byte*>(view);
  }
  static void unmap(const std::byte* view, std::size_t bytes) noexcept {
    ::munmap(const_cast<std::byte*>(view), bytes);
  }
  /// Asks the system to start reading the mapping now.
  static void prefetch(const std::byte* view, std::size_t bytes) noexcept {
    ::posix_madvise(const_cast<std::byte*>(view), bytes, POSIX_MADV_WILLNEED);
  }

 private:
  os_file(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  [[nodiscard]] struct stat status() const {
    struct stat found;
    if (::fstat(descriptor_, &found) != 0) throw_io("open", path_);
    return found;
  }
  int descriptor_;
  std::string path_;
};

/// True when `path` names something that exists and is no ordinary file (a folder, a device, a pipe).
[[nodiscard]] inline bool is_special_file(const std::string& path) {
  struct stat found;
  return ::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode);
}
[[nodiscard]] inline bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }
/// Puts `from` in the place of `to` in one step: every reader sees the old file or the new one, whole.
inline void rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw_io("rename", to);
}
inline void remove_file(const std::string& path) noexcept { ::unlink(path.c_str()); }
/// Makes a rename survive a power cut. Best effort: some file systems cannot, and the file itself is safe already.
inline void sync_folder_of(const std::string& path) noexcept {
  const std::size_t slash = path.find_last_of('/');
  try {
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
  } catch (...) {  // out of memory for the name
  }
}
[[nodiscard]] inline std::uint64_t process_number() noexcept { return static_cast<std::uint64_t>(::getpid()); }
inline constexpr const char* path_separators = "/";

#endif

}  // namespace detail
}  // namespace tinygrad::inline TINYGRAD_ABI
