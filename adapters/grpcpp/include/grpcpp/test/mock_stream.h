// Readers and writers for tests, by gmock.
#pragma once

#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/sync_stream.h>

#include <gmock/gmock.h>

#include <cstdint>

namespace grpc::testing {

template <class R>
class MockClientReader : public ClientReaderInterface<R> {
 public:
  MOCK_METHOD(Status, Finish, (), (override));
  MOCK_METHOD(bool, NextMessageSize, (std::uint32_t*), (override));
  MOCK_METHOD(bool, Read, (R*), (override));
  MOCK_METHOD(void, WaitForInitialMetadata, (), (override));
};

template <class W>
class MockClientWriter : public ClientWriterInterface<W> {
 public:
  MOCK_METHOD(Status, Finish, (), (override));
  MOCK_METHOD(bool, Write, (const W&, WriteOptions), (override));
  MOCK_METHOD(bool, WritesDone, (), (override));
};

template <class W, class R>
class MockClientReaderWriter : public ClientReaderWriterInterface<W, R> {
 public:
  MOCK_METHOD(Status, Finish, (), (override));
  MOCK_METHOD(bool, NextMessageSize, (std::uint32_t*), (override));
  MOCK_METHOD(bool, Read, (R*), (override));
  MOCK_METHOD(bool, Write, (const W&, WriteOptions), (override));
  MOCK_METHOD(void, WaitForInitialMetadata, (), (override));
  MOCK_METHOD(bool, WritesDone, (), (override));
};

template <class R>
class MockClientAsyncResponseReader : public ClientAsyncResponseReaderInterface<R> {
 public:
  MOCK_METHOD(void, StartCall, (), (override));
  MOCK_METHOD(void, ReadInitialMetadata, (void*), (override));
  MOCK_METHOD(void, Finish, (R*, Status*, void*), (override));
};

template <class R>
class MockClientAsyncReader : public ClientAsyncReaderInterface<R> {
 public:
  MOCK_METHOD(void, StartCall, (void*), (override));
  MOCK_METHOD(void, ReadInitialMetadata, (void*), (override));
  MOCK_METHOD(void, Finish, (Status*, void*), (override));
  MOCK_METHOD(void, Read, (R*, void*), (override));
};

template <class W>
class MockClientAsyncWriter : public ClientAsyncWriterInterface<W> {
 public:
  MOCK_METHOD(void, StartCall, (void*), (override));
  MOCK_METHOD(void, ReadInitialMetadata, (void*), (override));
  MOCK_METHOD(void, Finish, (Status*, void*), (override));
  MOCK_METHOD(void, Write, (const W&, void*), (override));
  MOCK_METHOD(void, Write, (const W&, WriteOptions, void*), (override));
  MOCK_METHOD(void, WritesDone, (void*), (override));
};

template <class W, class R>
class MockClientAsyncReaderWriter : public ClientAsyncReaderWriterInterface<W, R> {
 public:
  MOCK_METHOD(void, StartCall, (void*), (override));
  MOCK_METHOD(void, ReadInitialMetadata, (void*), (override));
  MOCK_METHOD(void, Finish, (Status*, void*), (override));
  MOCK_METHOD(void, Write, (const W&, void*), (override));
  MOCK_METHOD(void, Write, (const W&, WriteOptions, void*), (override));
  MOCK_METHOD(void, Read, (R*, void*), (override));
  MOCK_METHOD(void, WritesDone, (void*), (override));
};

template <class R>
class MockServerReader : public ServerReaderInterface<R> {
 public:
  MOCK_METHOD(void, SendInitialMetadata, (), (override));
  MOCK_METHOD(bool, NextMessageSize, (std::uint32_t*), (override));
  MOCK_METHOD(bool, Read, (R*), (override));
};

template <class W>
class MockServerWriter : public ServerWriterInterface<W> {
 public:
  MOCK_METHOD(void, SendInitialMetadata, (), (override));
  MOCK_METHOD(bool, Write, (const W&, WriteOptions), (override));
};

template <class W, class R>
class MockServerReaderWriter : public ServerReaderWriterInterface<W, R> {
 public:
  MOCK_METHOD(void, SendInitialMetadata, (), (override));
  MOCK_METHOD(bool, NextMessageSize, (std::uint32_t*), (override));
  MOCK_METHOD(bool, Read, (R*), (override));
  MOCK_METHOD(bool, Write, (const W&, WriteOptions), (override));
};

}  // namespace grpc::testing
