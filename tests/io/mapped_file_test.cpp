// Files mapped and files replaced, and what is left behind when something goes wrong.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <tinygrad/io/mapped_file.hpp>
#include <utility>
#include <vector>

#include "support/temp_folder.hpp"

using namespace tinygrad;
using tinygrad_test::temp_folder;

namespace {

// Files written in the scope may not grow beyond `bytes`: what a full disk does, without filling one.
class small_disk {
 public:
  explicit small_disk(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~small_disk() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int) = nullptr;
};

std::string message_of(auto f) {
  try {
    f();
  } catch (const io_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a file is the same mapped and read") {
  const temp_folder folder;
  std::string content(100'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7);
  const std::string path = folder.put("a", content);
  const mapped_file mapped(path);
  const mapped_file read(path, file_access::read);
  CHECK(mapped.is_mapped());
  CHECK_FALSE(read.is_mapped());
  CHECK(mapped.text() == content);
  CHECK(read.text() == content);
  CHECK(mapped.path() == path);
  CHECK(reinterpret_cast<std::uintptr_t>(read.bytes().data()) % 16 == 0);
  mapped.prefetch();
}

TEST_CASE("files of awkward sizes are read whole") {
  const temp_folder folder;
  for (const std::size_t size : {0U, 1U, 4095U, 4096U, 4097U, 8192U, 65537U}) {
    const std::string content(size, 'x');
    const std::string path = folder.put("f", content);
    CHECK(mapped_file(path).text() == content);
    CHECK(mapped_file(path, file_access::read).text() == content);
  }
}

TEST_CASE("a pipe cannot be mapped and is read to its end") {
  const temp_folder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const std::string content(300'000, 'p');
  std::thread writer([&] {
    std::ofstream out(path, std::ios::binary);
    out << content;
  });
  const mapped_file file(path);
  writer.join();
  CHECK_FALSE(file.is_mapped());
  CHECK(file.text() == content);
}

TEST_CASE("files that claim to be empty are read all the same") {
  const std::string path = "/proc/self/status";
  if (::access(path.c_str(), R_OK) != 0) return;
  CHECK(contains(std::string(mapped_file(path).text()), "Name:"));
}

TEST_CASE("moving a file keeps its content in place") {
  const temp_folder folder;
  for (const file_access access : {file_access::map, file_access::read}) {
    mapped_file first(folder.put("a", "aaaa"), access);
    const std::byte* where = first.bytes().data();
    mapped_file second(std::move(first));
    CHECK(second.bytes().data() == where);
    mapped_file third(folder.put("b", "bb"), access);
    third = std::move(second);
    CHECK(third.bytes().data() == where);
    CHECK(third.text() == "aaaa");
  }
}

TEST_CASE("what cannot be opened is an io_error that says why") {
  const temp_folder folder;
  const std::string missing = folder / "missing";
  CHECK(contains(message_of([&] { mapped_file file(missing); }), missing + ": No such file"));
  CHECK(contains(message_of([&] { mapped_file file(folder.path().string()); }), "directory"));
}

TEST_CASE("a written file appears only when committed") {
  const temp_folder folder;
  const std::string path = folder / "out";
  {
    atomic_file_writer out(path);
    out.write("part");
    CHECK(::access(path.c_str(), F_OK) != 0);
  }
  CHECK(folder.file_count() == 0);
  {
    atomic_file_writer out(path);
    out.write("one, ");
    out.write(std::string(200'000, 'x'));
    out.write(" two");
    out.write_zeros(130);
    CHECK(out.size() == 200'139);
    out.commit();
  }
  CHECK(folder.get("out") == "one, " + std::string(200'000, 'x') + " two" + std::string(130, '\0'));
  CHECK(folder.file_count() == 1);
}

TEST_CASE("pieces of every size come out in order") {
  const temp_folder folder;
  std::string expected;
  atomic_file_writer out(folder / "out");
  for (std::size_t i = 0; i < 400; ++i) {
    const std::string piece(i * i % 70'000, static_cast<char>('a' + i % 26));
    out.write(piece);
    expected += piece;
  }
  out.commit();
  CHECK(folder.get("out") == expected);
}

TEST_CASE("an exception between opening and commit leaves the old file and nothing else") {
  const temp_folder folder;
  const std::string path = folder.put("model", "old");
  try {
    atomic_file_writer out(path);
    out.write("half of the new");
    throw std::runtime_error("interrupted");
  } catch (const std::runtime_error&) {
  }
  CHECK(folder.get("model") == "old");
  CHECK(folder.file_count() == 1);
}

TEST_CASE("E18: a file may be saved over itself while it is mapped") {
  const temp_folder folder;
  const std::string content(50'000, 'o');
  const std::string path = folder.put("model", content);
  const mapped_file old(path);
  atomic_file_writer out(path);
  out.write("new ");
  out.write(old.bytes());
  out.commit();
  CHECK(old.text() == content);
  CHECK(folder.get("model") == "new " + content);
}

TEST_CASE("a full disk is an io_error; the old file stays and no temporary file does") {
  const temp_folder folder;
  const std::string path = folder.put("model", "old");
  const std::string large(200'000, 'x');
  std::string while_writing;
  std::string at_commit;
  {
    const small_disk disk(10'000);
    while_writing = message_of([&] {
      atomic_file_writer out(path);
      out.write(large);
      out.commit();
    });
    at_commit = message_of([&] {
      atomic_file_writer out(path);
      out.write(std::string_view(large).substr(0, 20'000));  // fits the buffer: noticed when flushed
      out.commit();
    });
  }
  CHECK(contains(while_writing, "[write] " + path + ": "));
  CHECK(contains(at_commit, "[write] " + path + ": "));
  CHECK(folder.get("model") == "old");
  CHECK(folder.file_count() == 1);
}

TEST_CASE("a target that cannot be replaced is an io_error and leaves no temporary file") {
  const temp_folder folder;
  CHECK(contains(message_of([&] { write_file(folder / "no/such/folder/f", "x"); }), "No such file"));
  CHECK(contains(message_of([&] { write_file(folder.path().string(), "x"); }), "no ordinary file"));
  CHECK(contains(message_of([&] { write_file("/dev/null", "x"); }), "no ordinary file"));
  CHECK(folder.file_count() == 0);
}

TEST_CASE("a name of the greatest length can be written") {
  const temp_folder folder;
  const std::string name(255, 'n');
  write_file(folder / name, "x");
  CHECK(folder.get(name) == "x");
}

TEST_CASE("permissions of a replaced file are kept, a symbolic link is replaced") {
  const temp_folder folder;
  const std::string path = folder.put("f", "old");
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  write_file(path, "new");
  struct stat found;
  REQUIRE(::stat(path.c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0640);
  REQUIRE(::symlink(path.c_str(), (folder / "link").c_str()) == 0);
  write_file(folder / "link", "through");
  CHECK(folder.get("f") == "new");
  CHECK(folder.get("link") == "through");
}

TEST_CASE("several writers of one name do not disturb each other") {
  const temp_folder folder;
  const std::string path = folder / "f";
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) write_file(path, std::string(10'000, static_cast<char>('a' + i)));
    });
  for (std::thread& writer : writers) writer.join();
  const std::string content = folder.get("f");
  CHECK(content == std::string(10'000, content.front()));
  CHECK(folder.file_count() == 1);
}
