// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no channels around channels: use grpcpp/support/client_interceptor.h"
