// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no binder transport, which is for Android: use a UNIX domain socket"
