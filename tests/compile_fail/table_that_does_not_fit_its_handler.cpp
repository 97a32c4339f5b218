// expect: the handler's return type does not match the .proto
#include "kinds.coracle.hpp"

#ifdef MISUSE
constexpr auto row = coracle::unary_method<&misuse::rpc::Kinds::service::Scatter>("/misuse.Kinds/Scatter");
#else
constexpr auto row =
    coracle::server_streaming_method<&misuse::rpc::Kinds::service::Scatter>("/misuse.Kinds/Scatter");
#endif
