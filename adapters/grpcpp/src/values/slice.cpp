// Slices, and what is made of them.
#include <grpc/slice.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <string_view>

namespace grpc::internal {

// The owner of the bytes of slices; counted.
struct slice_owner {
  std::atomic<std::uint32_t> references{1};
  void (*destroy)(slice_owner*) = nullptr;
};

namespace {

struct string_owner : slice_owner {
  explicit string_owner(std::string t) : text(std::move(t)) {
    destroy = [](slice_owner* self) { delete static_cast<string_owner*>(self); };
  }
  std::string text;
};

// Calls functions of the program when its bytes are not used any more.
struct foreign_owner : slice_owner {
  using function = void (*)(void*);
  using sized_function = void (*)(void*, std::size_t);
  foreign_owner(function f, void* argument) : plain(f), with(argument) {
    destroy = [](slice_owner* self) {
      auto* const mine = static_cast<foreign_owner*>(self);
      if (mine->sized) mine->sized(mine->with, mine->size);
      else mine->plain(mine->with);
      delete mine;
    };
  }
  function plain;
  sized_function sized = nullptr;
  void* with;
  std::size_t size = 0;
};

grpc_slice slice_of(string_owner* owner) {
  return {owner, reinterpret_cast<const std::uint8_t*>(owner->text.data()), owner->text.size()};
}
std::string_view view(grpc_slice s) noexcept { return {reinterpret_cast<const char*>(s.bytes), s.length}; }

}  // namespace
}  // namespace grpc::internal

using namespace grpc::internal;  // NOLINT(google-build-using-namespace)

grpc_slice grpc_slice_ref(grpc_slice s) {
  if (s.owner) s.owner->references.fetch_add(1, std::memory_order_relaxed);
  return s;
}
void grpc_slice_unref(grpc_slice s) {
  if (s.owner && s.owner->references.fetch_sub(1, std::memory_order_acq_rel) == 1) s.owner->destroy(s.owner);
}
grpc_slice grpc_slice_malloc(std::size_t length) {
  return slice_of(new string_owner(std::string(length, '\0')));
}
grpc_slice grpc_slice_new(void* bytes, std::size_t length, void (*destroy)(void*)) {
  return grpc_slice_new_with_user_data(bytes, length, destroy, bytes);
}
grpc_slice grpc_slice_new_with_user_data(void* bytes, std::size_t length, void (*destroy)(void*),
                                         void* user) {
  return {new foreign_owner(destroy, user), static_cast<const std::uint8_t*>(bytes), length};
}
grpc_slice grpc_slice_from_copied_buffer(const char* bytes, std::size_t length) {
  return slice_of(new string_owner(std::string(bytes, length)));
}
grpc_slice grpc_slice_from_copied_string(const char* text) {
  return grpc_slice_from_copied_buffer(text, std::strlen(text));
}
grpc_slice grpc_slice_from_static_buffer(const void* bytes, std::size_t length) {
  return {nullptr, static_cast<const std::uint8_t*>(bytes), length};
}
grpc_slice grpc_slice_from_static_string(const char* text) {
  return grpc_slice_from_static_buffer(text, std::strlen(text));
}
grpc_slice grpc_empty_slice() { return grpc_slice_from_static_buffer("", 0); }
grpc_slice grpc_slice_sub(grpc_slice s, std::size_t begin, std::size_t end) {
  grpc_slice part = grpc_slice_ref(s);
  part.bytes += begin;
  part.length = end - begin;
  return part;
}
int grpc_slice_eq(grpc_slice a, grpc_slice b) { return view(a) == view(b) ? 1 : 0; }
int grpc_slice_cmp(grpc_slice a, grpc_slice b) {
  if (a.length != b.length) return a.length < b.length ? -1 : 1;
  return view(a).compare(view(b));
}
int grpc_slice_str_cmp(grpc_slice a, const char* b) {
  return grpc_slice_cmp(a, grpc_slice_from_static_string(b));
}

namespace grpc {

Slice::Slice(void* bytes, std::size_t length, void (*destroy)(void*, std::size_t)) : slice_{} {
  auto* const owner = new foreign_owner(nullptr, bytes);
  owner->sized = destroy;
  owner->size = length;
  slice_ = {owner, static_cast<const std::uint8_t*>(bytes), length};
}

ByteBuffer ByteBuffer::own(std::string bytes) {
  const Slice only(slice_of(new string_owner(std::move(bytes))), Slice::STEAL_REF);
  return {&only, 1};
}

std::string ByteBuffer::bytes() const {
  std::string all;
  all.reserve(Length());
  for (const Slice& s : slices_) all.append(reinterpret_cast<const char*>(s.begin()), s.size());
  return all;
}

std::size_t ByteBuffer::Length() const {
  std::size_t sum = 0;
  for (const Slice& s : slices_) sum += s.size();
  return sum;
}

namespace {

Status no_buffer() { return {StatusCode::FAILED_PRECONDITION, "the ByteBuffer was not initialized"}; }

}  // namespace

Status ByteBuffer::TrySingleSlice(Slice* slice) const {
  if (!valid_) return no_buffer();
  if (slices_.size() != 1)
    return {StatusCode::FAILED_PRECONDITION, "the ByteBuffer does not consist of one slice"};
  *slice = slices_.front();
  return {};
}

Status ByteBuffer::DumpToSingleSlice(Slice* slice) const {
  if (!valid_) return no_buffer();
  *slice = slices_.size() == 1 ? slices_.front() : Slice(bytes());
  return {};
}

Status ByteBuffer::Dump(std::vector<Slice>* slices) const {
  slices->clear();
  if (!valid_) return no_buffer();
  *slices = slices_;
  return {};
}

ProtoBufferReader::ProtoBufferReader(ByteBuffer* buffer) : from_(buffer) {
  if (!buffer->Valid()) status_ = Status(StatusCode::INTERNAL, "the ByteBuffer was not initialized");
}

bool ProtoBufferReader::Next(const void** data, int* size) {
  if (!status_.ok()) return false;
  if (backed_up_ > 0) {
    *data = from_->slices()[next_ - 1].end() - backed_up_;
    *size = backed_up_;
    backed_up_ = 0;
    return true;
  }
  if (next_ == from_->slices().size()) return false;
  const Slice& slice = from_->slices()[next_++];
  *data = slice.begin();
  *size = static_cast<int>(slice.size());
  count_ += *size;
  return true;
}

void ProtoBufferReader::BackUp(int count) { backed_up_ = count; }

bool ProtoBufferReader::Skip(int count) {
  const void* data = nullptr;
  int size = 0;
  while (Next(&data, &size)) {
    if (size >= count) {
      BackUp(size - count);
      return true;
    }
    count -= size;
  }
  return false;
}

ProtoBufferWriter::ProtoBufferWriter(ByteBuffer* to, int block_size, int total_size)
    : to_(to), block_size_(block_size), total_size_(total_size) {}

ProtoBufferWriter::~ProtoBufferWriter() { *to_ = ByteBuffer(slices_.data(), slices_.size()); }

bool ProtoBufferWriter::Next(void** data, int* size) {
  const std::int64_t left = total_size_ - count_;
  if (left <= 0) return false;
  const auto length = static_cast<std::size_t>(std::min<std::int64_t>(left, block_size_));
  const Slice& made = slices_.emplace_back(length);
  *data = const_cast<std::uint8_t*>(made.begin());
  *size = static_cast<int>(length);
  count_ += *size;
  return true;
}

void ProtoBufferWriter::BackUp(int count) {
  Slice& last = slices_.back();
  last = last.sub(0, last.size() - static_cast<std::size_t>(count));
  count_ -= count;
}

}  // namespace grpc
