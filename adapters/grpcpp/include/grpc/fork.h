// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no fork handlers, and needs none: make new channels in the child"
