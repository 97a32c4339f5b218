// expect: is unavailable: coracle::grpcpp:
#include <grpcpp/generic/callback_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#ifdef MISUSE
class any_service : public grpc::Service {};
class allocator : public grpc::ContextAllocator {};

void clients(grpc::ClientContext& context, grpc::ChannelArguments& arguments) {
  grpc::GoogleDefaultCredentials();
  grpc::GoogleComputeEngineCredentials();
  grpc::ServiceAccountJWTAccessCredentials("{}");
  grpc::GoogleRefreshTokenCredentials("{}");
  grpc::ExternalAccountCredentials("{}", {});
  grpc::experimental::StsCredentialsOptions sts;
  grpc::experimental::StsCredentialsOptionsFromJson("{}", &sts);
  grpc::experimental::StsCredentialsOptionsFromEnv(&sts);
  grpc::experimental::StsCredentials(sts);
  grpc::experimental::AltsCredentialsOptions alts;
  alts.target_service_accounts.push_back("example");
  grpc::experimental::AltsCredentials(alts);
  grpc::experimental::LocalCredentials(UDS);
  grpc::experimental::TlsChannelCredentialsOptions tls;
  tls.set_tls_session_key_log_file_path("/keys");
  static const grpc_arg_pointer_vtable none{};
  arguments.SetPointerWithVtable("example", &arguments, &none);
  arguments.SetSocketMutator(nullptr);
  grpc_channel_args all = arguments.c_channel_args();
  arguments.SetChannelArgs(&all);
  grpc::experimental::CreateChannelFromFd(3, grpc::InsecureChannelCredentials(), arguments);
  context.set_census_context(context.census_context());
  grpc_call* const call = context.c_call();
  static_cast<void>(call);
}

void servers(grpc::ServerBuilder& builder, any_service& service) {
  grpc::experimental::AltsServerCredentials(grpc::experimental::AltsServerCredentialsOptions());
  grpc::experimental::LocalServerCredentials(LOCAL_TCP);
  builder.RegisterService("service.example", &service);
  builder.SetContextAllocator(std::make_unique<allocator>());
  builder.EnableWorkaround(GRPC_WORKAROUND_ID_CRONET_COMPRESSION);
  auto experimental = builder.experimental();
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor =
      experimental.AddExternalConnectionAcceptor(decltype(experimental)::ExternalConnectionType::FROM_FD,
                                                 grpc::InsecureServerCredentials());
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  acceptor->HandleNewConnection(&connection);
  experimental.SetAuthorizationPolicyProvider(nullptr);
  experimental.EnableCallMetricRecording();
}

void handler(grpc::ServerContext& context) {
  context.ExperimentalGetCallMetricRecorder();
  const census_context* const census = context.census_context();
  static_cast<void>(census);
  grpc_call* const call = context.c_call();
  static_cast<void>(call);
}
#endif
