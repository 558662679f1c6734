#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "Callers.h"
#include "Failure.h"

namespace {

/// A file descriptor that closes itself.
class File {
 public:
  File(const std::string &path, int flags) : path_(path), descriptor_(open(path.c_str(), flags, 0600)) {
    if (descriptor_ < 0) throw Failure::ofSystem("opening " + path, errno);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() { close(descriptor_); }

  void write(const uint8_t *bytes, size_t count) {
    while (count > 0) {
      const ssize_t written = ::write(descriptor_, bytes, count);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw Failure::ofSystem("writing " + path_, errno);
      bytes += written;
      count -= static_cast<size_t>(written);
    }
  }

  // Apple's fsync leaves the bytes in the drive's cache; only F_FULLFSYNC compares with what Linux does.
  void flush() {
#ifdef F_FULLFSYNC
    if (fcntl(descriptor_, F_FULLFSYNC) == 0) return;
#endif
    if (fsync(descriptor_) != 0) throw Failure::ofSystem("flushing " + path_, errno);
  }

  int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace

bool peer_files_write(const char *folder, const uint8_t *bytes, size_t byte_count, size_t count,
                      uint64_t first_stamp, bool flush_folder_each, double *seconds, peer_error *error) {
  return reporting(error, [&] {
    std::vector<uint8_t> content(bytes, bytes + byte_count);
    File parent(folder, O_RDONLY | O_DIRECTORY);
    *seconds = timed([&] {
      for (size_t index = 0; index < count; index++) {
        const uint64_t stamp = first_stamp + index;
        std::memcpy(content.data(), &stamp, std::min(sizeof stamp, byte_count));
        File file(std::string(folder) + "/" + std::to_string(stamp), O_WRONLY | O_CREAT | O_EXCL);
        file.write(content.data(), content.size());
        file.flush();
        if (flush_folder_each) parent.flush();
      }
      if (!flush_folder_each) parent.flush();
    });
  });
}

bool peer_flush_time(const char *folder, size_t count, double *seconds, peer_error *error) {
  return reporting(error, [&] {
    const std::string path = std::string(folder) + "/flush-time";
    File file(path, O_WRONLY | O_CREAT | O_TRUNC);
    const std::vector<uint8_t> block(256, 0x5A);
    std::vector<double> times;
    for (size_t index = 0; index < count; index++) {
      file.write(block.data(), block.size());
      times.push_back(timed([&] {
#ifdef __linux__
        if (fdatasync(file.descriptor()) != 0) throw Failure::ofSystem("flushing " + path, errno);
#else
        file.flush();
#endif
      }));
    }
    unlink(path.c_str());
    std::sort(times.begin(), times.end());
    *seconds = times.empty() ? 0 : times[times.size() / 2];
  });
}

bool peer_settle(const char *folder, peer_error *error) {
  return reporting(error, [&] {
#ifdef __linux__
    File parent(folder, O_RDONLY | O_DIRECTORY);
    if (syncfs(parent.descriptor()) != 0) throw Failure::ofSystem("syncing the file system", errno);
#else
    (void)folder;
    sync();
#endif
  });
}
