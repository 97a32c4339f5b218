// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no operations of calls: use the functions of stubs, contexts and streams"
