// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no ALTS: use TLS, and the peer of ServerContext::auth_context()"
