// attachment: an object that a higher layer keeps on each executor, such as the contexts of its compressors.
#pragma once

#include <memory>

namespace coracle::coro {

// Owned by its executor and destroyed with it. There is one of each type, made on first use; see
// executor::attached(). For the executor's thread only.
class attachment {
 public:
  attachment() noexcept = default;
  attachment(const attachment&) = delete;
  attachment& operator=(const attachment&) = delete;
  virtual ~attachment() = default;

 private:
  friend class executor;
  const void* type_ = nullptr;
  std::unique_ptr<attachment> next_;
};

}  // namespace coracle::coro
