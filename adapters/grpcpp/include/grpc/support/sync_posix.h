// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no locks of its own: use std::mutex, std::condition_variable, std::call_once"
