// Whole files: read-only and mapped into memory, or written so that nobody ever sees half of one.
//
//   const mapped_file weights("model.safetensors");   // bytes() is the content; pages load when touched
//   atomic_file_writer out("model.safetensors");      // a temporary file beside it ...
//   out.write(header); out.write(data);
//   out.commit();                                     // ... synced and renamed over the target
//
// Because a commit replaces the name and not the content, a file may be saved over itself while it is mapped: the
// mapping keeps the old content (on Windows the rename is refused instead, and the old file stays).
// Someone else who shortens a mapped file in place takes pages away under the reader; no library can prevent that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/io/os_file.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// How mapped_file gets at the content: mapped where possible, or read into memory in any case.
enum class file_access : std::uint8_t { map, read };

/// The content of a file, read-only. Move-only. Pipes and file systems without mapping are read into memory.
class mapped_file {
 public:
  /// Throws io_error when the file cannot be opened or read.
  explicit mapped_file(const std::string& path, file_access access = file_access::map) : path_(path) {
    detail::os_file file = detail::os_file::open(path);
    const bool regular = file.is_regular();
    const std::uint64_t size = regular ? file.size() : 0;
    if (size > static_cast<std::uint64_t>((std::numeric_limits<std::ptrdiff_t>::max)()))
      throw io_error("[open] " + path + ": larger than the address space");
    size_ = static_cast<std::size_t>(size);
    if (access == file_access::map && size_ > 0) data_ = file.map(size_);
    mapped_ = data_ != nullptr;
    // A regular file of size 0 may still have content: files under /proc say so.
    if (!mapped_) read_all(file);
  }
  mapped_file(mapped_file&& other) noexcept
      : path_(std::move(other.path_)),
        buffer_(std::move(other.buffer_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        mapped_(std::exchange(other.mapped_, false)) {}
  mapped_file& operator=(mapped_file&& other) noexcept {
    mapped_file taken(std::move(other));
    std::swap(path_, taken.path_);
    std::swap(buffer_, taken.buffer_);
    std::swap(data_, taken.data_);
    std::swap(size_, taken.size_);
    std::swap(mapped_, taken.mapped_);
    return *this;
  }
  ~mapped_file() {
    if (mapped_) detail::os_file::unmap(data_, size_);
  }

  /// The content; stays where it is when the object is moved. At least 16-byte aligned.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool is_mapped() const noexcept { return mapped_; }

  /// Asks the system to read the whole file ahead. A hint: returns at once.
  void prefetch() const noexcept {
    if (mapped_) detail::os_file::prefetch(data_, size_);
  }

 private:
  // Reads to the end of the file. size_ is a guess that is exact for ordinary files.
  void read_all(detail::os_file& file) {
    constexpr std::size_t least = 4096;
    std::size_t capacity = size_ + least;  // room to notice the end without growing
    buffer_.reset(new std::byte[capacity]);
    size_ = 0;
    while (const std::size_t got = file.read(buffer_.get() + size_, capacity - size_)) {
      size_ += got;
      if (size_ < capacity) continue;
      std::unique_ptr<std::byte[]> larger(new std::byte[capacity * 2]);
      std::memcpy(larger.get(), buffer_.get(), size_);
      buffer_ = std::move(larger);
      capacity *= 2;
    }
    data_ = buffer_.get();
  }

  std::string path_;
  std::unique_ptr<std::byte[]> buffer_;  // only when not mapped
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool mapped_ = false;
};

/// Writes a file that appears under its name complete or not at all. Without commit(), or after any error, the old
/// file stays as it was and no temporary file is left behind.
/// A symbolic link is replaced, not followed; permissions of an existing file are kept. Devices are refused.
class atomic_file_writer {
 public:
  /// Makes a temporary file in the folder of `path`. Throws io_error.
  explicit atomic_file_writer(std::string path)
      : path_(std::move(path)), buffer_(empty_buffer()), file_(create_beside(path_, temporary_)) {
    file_.copy_mode_of(path_);  // nothing after create_beside throws: the destructor would not run
  }
  atomic_file_writer(const atomic_file_writer&) = delete;
  atomic_file_writer& operator=(const atomic_file_writer&) = delete;
  ~atomic_file_writer() {
    if (committed_) return;
    file_.close();  // Windows does not remove open files
    detail::remove_file(temporary_);
  }

  void write(std::span<const std::byte> bytes) {
    size_ += bytes.size();
    if (bytes.size() > buffer_bytes - buffer_.size()) flush();
    if (bytes.size() >= buffer_bytes) return file_.write(bytes.data(), bytes.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  void write(std::string_view text) {
    write(std::span<const std::byte>(reinterpret_cast<const std::byte*>(text.data()), text.size()));
  }
  void write_zeros(std::size_t count) {
    constexpr std::byte zeros[64] = {};
    for (; count > sizeof(zeros); count -= sizeof(zeros)) write(zeros);
    write(std::span<const std::byte>(zeros, count));
  }

  /// Puts the file in place: flushed to the disk, then renamed. Throws io_error, for a full disk too.
  void commit() {
    flush();
    file_.sync_and_close();
    detail::rename_file(temporary_, path_);
    committed_ = true;
    detail::sync_folder_of(path_);
  }

  /// Bytes written so far.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

  static std::vector<std::byte> empty_buffer() {
    std::vector<std::byte> buffer;
    buffer.reserve(buffer_bytes);
    return buffer;
  }

  void flush() {
    file_.write(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

  // A new file in the folder of `path`, whose short name does not depend on the target's (which may be at the limit).
  static detail::os_file create_beside(const std::string& path, std::string& temporary) {
    if (detail::is_special_file(path)) throw io_error("[write] " + path + ": exists and is no ordinary file");
    static std::atomic<std::uint64_t> counter{0};
    const std::size_t slash = path.find_last_of(detail::path_separators);
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    for (int attempt = 0; attempt < 1000; ++attempt) {
      temporary = folder + ".tinygrad-" + std::to_string(detail::process_number()) + "-" +
                  std::to_string(counter.fetch_add(1, std::memory_order_relaxed)) + ".tmp";
      bool made = false;
      detail::os_file file = detail::os_file::create(temporary, path, made);
      if (made) return file;
    }
    throw io_error("[write] " + path + ": no free name for a temporary file");
  }

  std::string path_;
  std::string temporary_;
  std::vector<std::byte> buffer_;  // small writes gather here
  detail::os_file file_;
  std::uint64_t size_ = 0;
  bool committed_ = false;
};

/// Replaces the content of `path` by `text`, in one step.
inline void write_file(const std::string& path, std::string_view text) {
  atomic_file_writer out(path);
  out.write(text);
  out.commit();
}

}  // namespace tinygrad::inline TINYGRAD_ABI
