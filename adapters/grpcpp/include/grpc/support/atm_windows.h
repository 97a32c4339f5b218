// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no atomic numbers of its own: use std::atomic"
