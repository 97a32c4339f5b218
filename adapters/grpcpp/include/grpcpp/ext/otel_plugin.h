// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no OpenTelemetry yet: use interceptors, or coracle::server_observer and coracle::client_observer"
