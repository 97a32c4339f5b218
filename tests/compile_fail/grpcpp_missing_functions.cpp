// expect in calls: 'grpc::GoogleDefaultCredentials' declared with attribute error: coracle::grpcpp: there are no credentials of Google: CompositeChannelCredentials() with a token
// expect in calls: 'grpc::XdsCredentials' declared with attribute error: coracle::grpcpp: there is no xDS yet: the fallback credentials alone
// expect in calls: 'grpc::GoogleComputeEngineCredentials' declared with attribute error: coracle::grpcpp: tokens are not fetched: MetadataCredentialsFromPlugin()
// expect in calls: 'grpc::ServiceAccountJWTAccessCredentials' declared with attribute error: coracle::grpcpp: tokens are not made: MetadataCredentialsFromPlugin()
// expect in calls: 'grpc::GoogleRefreshTokenCredentials' declared with attribute error: coracle::grpcpp: tokens are not fetched: MetadataCredentialsFromPlugin()
// expect in calls: 'grpc::ExternalAccountCredentials' declared with attribute error: coracle::grpcpp: tokens are not fetched: MetadataCredentialsFromPlugin()
// expect in calls: 'grpc::experimental::StsCredentialsOptionsFromJson' declared with attribute error: coracle::grpcpp: tokens are not exchanged: MetadataCredentialsFromPlugin()
// expect in calls: 'grpc::experimental::StsCredentialsOptionsFromEnv' declared with attribute error: coracle::grpcpp: tokens are not exchanged: MetadataCredentialsFromPlugin()
// expect in calls: 'grpc::experimental::StsCredentials' declared with attribute error: coracle::grpcpp: tokens are not exchanged: MetadataCredentialsFromPlugin()
// expect in calls: 'grpc::experimental::AltsCredentials' declared with attribute error: coracle::grpcpp: there is no ALTS: SslCredentials()
// expect in calls: 'grpc::experimental::LocalCredentials' declared with attribute error: coracle::grpcpp: connections are not limited to this host: InsecureChannelCredentials(), to a local address
// expect in calls: 'grpc::experimental::TlsCredentialsOptions::set_crl_directory' declared with attribute error: coracle::grpcpp: revocation lists do not exist: reject certificates in a verifier
// expect in calls: 'grpc::experimental::TlsCredentialsOptions::set_tls_session_key_log_file_path' declared with attribute error: coracle::grpcpp: the keys of sessions are not logged: InsecureChannelCredentials(), to see what is sent
// expect in calls: 'grpc::ChannelArguments::SetPointerWithVtable' declared with attribute error: coracle::grpcpp: arguments own no objects: SetPointer(key, object)
// expect in calls: 'grpc::ChannelArguments::SetSocketMutator' declared with attribute error: coracle::grpcpp: there are no socket mutators: CreateInsecureChannelFromFd() with a socket of your own
// expect in calls: 'grpc::ChannelArguments::c_channel_args' declared with attribute error: coracle::grpcpp: there are no arguments of the C library: SetInt(), SetString()
// expect in calls: 'grpc::ChannelArguments::SetChannelArgs' declared with attribute error: coracle::grpcpp: there are no arguments of the C library: SetInt(), SetString()
// expect in calls: 'grpc::ClientContext::census_context' declared with attribute error: coracle::grpcpp: there is no census: coracle::client_observer
// expect in calls: 'grpc::ClientContext::set_census_context' declared with attribute error: coracle::grpcpp: there is no census: coracle::client_observer
// expect in calls: 'grpc::ClientContext::c_call' declared with attribute error: coracle::grpcpp: there are no calls of the C library: the functions of this context
// expect in calls: 'grpc::XdsServerCredentials' declared with attribute error: coracle::grpcpp: there is no xDS yet: the fallback credentials alone
// expect in calls: 'grpc::experimental::AltsServerCredentials' declared with attribute error: coracle::grpcpp: there is no ALTS: SslServerCredentials()
// expect in calls: 'grpc::experimental::LocalServerCredentials' declared with attribute error: coracle::grpcpp: peers are not limited to this host: InsecureServerCredentials(), on a local address
// expect in calls: 'grpc::ServerBuilder::RegisterService' declared with attribute error: coracle::grpcpp: a service answers for all hosts: RegisterService(service)
// expect in calls: 'grpc::ServerBuilder::SetContextAllocator' declared with attribute error: coracle::grpcpp: the library has the contexts: SetMessageAllocatorFor_...() of a service, for messages
// expect in calls: 'grpc::ServerBuilder::EnableWorkaround' declared with attribute error: coracle::grpcpp: there are no workarounds, and none is needed: remove the call
// expect in calls: 'grpc::ServerBuilder::experimental_type::AddExternalConnectionAcceptor' declared with attribute error: coracle::grpcpp: there are no acceptors: AddInsecureChannelFromFd(), coracle::server::adopt()
// expect in calls: 'grpc::ServerBuilder::experimental_type::SetAuthorizationPolicyProvider' declared with attribute error: coracle::grpcpp: there are no policies yet: a server interceptor, or coracle::authorization
// expect in calls: 'grpc::ServerContextBase::ExperimentalGetCallMetricRecorder' declared with attribute error: coracle::grpcpp: there are no load reports yet: AddTrailingMetadata() with figures of your own
// expect in calls: 'grpc::ServerContextBase::census_context' declared with attribute error: coracle::grpcpp: there is no census: coracle::server_observer
// expect in calls: 'grpc::ServerContextBase::c_call' declared with attribute error: coracle::grpcpp: there are no calls of the C library: the functions of this context
#include <grpcpp/generic/callback_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#ifdef MISUSE
class harbour : public grpc::Service {};
class allocator : public grpc::ContextAllocator {};

void clients(grpc::ClientContext& context, grpc::ChannelArguments& arguments) {
  grpc::GoogleDefaultCredentials();
  grpc::XdsCredentials(grpc::InsecureChannelCredentials());
  grpc::GoogleComputeEngineCredentials();
  grpc::ServiceAccountJWTAccessCredentials("{}");
  grpc::GoogleRefreshTokenCredentials("{}");
  grpc::ExternalAccountCredentials("{}", {});
  grpc::experimental::StsCredentialsOptions sts;
  grpc::experimental::StsCredentialsOptionsFromJson("{}", &sts);
  grpc::experimental::StsCredentialsOptionsFromEnv(&sts);
  grpc::experimental::StsCredentials(sts);
  grpc::experimental::AltsCredentialsOptions alts;
  alts.target_service_accounts.push_back("harbour");
  grpc::experimental::AltsCredentials(alts);
  grpc::experimental::LocalCredentials(UDS);
  grpc::experimental::TlsChannelCredentialsOptions tls;
  tls.set_crl_directory("/crl");
  tls.set_tls_session_key_log_file_path("/keys");
  static const grpc_arg_pointer_vtable none{};
  arguments.SetPointerWithVtable("harbour", &arguments, &none);
  arguments.SetSocketMutator(nullptr);
  grpc_channel_args all = arguments.c_channel_args();
  arguments.SetChannelArgs(&all);
  context.set_census_context(context.census_context());
  grpc_call* const call = context.c_call();
  static_cast<void>(call);
}

void servers(grpc::ServerBuilder& builder, harbour& service) {
  grpc::XdsServerCredentials(grpc::InsecureServerCredentials());
  grpc::experimental::AltsServerCredentials(grpc::experimental::AltsServerCredentialsOptions());
  grpc::experimental::LocalServerCredentials(LOCAL_TCP);
  builder.RegisterService("harbour.example", &service);
  builder.SetContextAllocator(std::make_unique<allocator>());
  builder.EnableWorkaround(GRPC_WORKAROUND_ID_CRONET_COMPRESSION);
  auto experimental = builder.experimental();
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor =
      experimental.AddExternalConnectionAcceptor(decltype(experimental)::ExternalConnectionType::FROM_FD,
                                                 grpc::InsecureServerCredentials());
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  acceptor->HandleNewConnection(&connection);
  experimental.SetAuthorizationPolicyProvider(nullptr);
}

void handler(grpc::ServerContext& context) {
  context.ExperimentalGetCallMetricRecorder();
  const census_context* const census = context.census_context();
  static_cast<void>(census);
  grpc_call* const call = context.c_call();
  static_cast<void>(call);
}
#endif
