// What nearly all of the tests include, to be compiled once.
#pragma once

#include <gmock/gmock.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/test/mock_stream.h>
#include <gtest/gtest.h>

#include "shims.h"
#include "src/proto/grpc/testing/duplicate/echo_duplicate.grpc.pb.h"
#include "src/proto/grpc/testing/echo.grpc.pb.h"
