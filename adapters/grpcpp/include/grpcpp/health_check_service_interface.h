// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no health service of its own yet: RegisterService() a coracle::health_service"
