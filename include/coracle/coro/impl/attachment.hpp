// attachment: an object that a higher room keeps on each executor, such as the contexts of its compressors.
#pragma once

#include <memory>

namespace coracle::coro {

// Belongs to its executor and is destroyed with it; one of each type, made when first asked for: see
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
