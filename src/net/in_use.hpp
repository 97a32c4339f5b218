// in_use: holds one direction of a handle for as long as an operation uses it.
#pragma once

#include "coracle/base/usage_error.hpp"

namespace coracle::net {

// Two at a time are a defect of the caller: nobody could say whose bytes come first.
class in_use {
 public:
  in_use(bool& flag, const char* defect) : flag_(flag) {
    CORACLE_REQUIRE(!flag_, defect);
    flag_ = true;
  }
  in_use(const in_use&) = delete;
  in_use& operator=(const in_use&) = delete;
  ~in_use() { flag_ = false; }

 private:
  bool& flag_;
};

}  // namespace coracle::net
