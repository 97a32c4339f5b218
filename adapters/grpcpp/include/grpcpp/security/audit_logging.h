// Audit logs, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::experimental {

class CORACLE_GRPCPP_ABSENT("there are no audit logs: use a server interceptor") AuditContext;
class CORACLE_GRPCPP_ABSENT("there are no audit logs: use a server interceptor") AuditLogger;
class CORACLE_GRPCPP_ABSENT("there are no audit logs: use a server interceptor") AuditLoggerFactory;
CORACLE_GRPCPP_ABSENT("there are no audit logs: use a server interceptor")
void RegisterAuditLoggerFactory(...);

}  // namespace grpc::experimental
