// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no admin services with xDS yet: use grpcpp/ext/channelz_service_plugin.h"
