// grpc::protobuf: the protobuf classes under the names that generated code uses.
#pragma once

#include <grpcpp/impl/one_library.h>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/message_lite.h>
#include <google/protobuf/util/json_util.h>  // IWYU pragma: export

namespace grpc::protobuf {

using MessageLite = ::google::protobuf::MessageLite;
using Message = ::google::protobuf::Message;
using Descriptor = ::google::protobuf::Descriptor;
using DescriptorPool = ::google::protobuf::DescriptorPool;
using DescriptorDatabase = ::google::protobuf::DescriptorDatabase;
using SimpleDescriptorDatabase = ::google::protobuf::SimpleDescriptorDatabase;
using EnumDescriptor = ::google::protobuf::EnumDescriptor;
using FieldDescriptor = ::google::protobuf::FieldDescriptor;
using FileDescriptor = ::google::protobuf::FileDescriptor;
using FileDescriptorProto = ::google::protobuf::FileDescriptorProto;
using MethodDescriptor = ::google::protobuf::MethodDescriptor;
using ServiceDescriptor = ::google::protobuf::ServiceDescriptor;
using SourceLocation = ::google::protobuf::SourceLocation;

namespace io {

using ZeroCopyOutputStream = ::google::protobuf::io::ZeroCopyOutputStream;
using ZeroCopyInputStream = ::google::protobuf::io::ZeroCopyInputStream;
using CodedInputStream = ::google::protobuf::io::CodedInputStream;
using CodedOutputStream = ::google::protobuf::io::CodedOutputStream;

}  // namespace io

namespace json = ::google::protobuf::util;

}  // namespace grpc::protobuf
