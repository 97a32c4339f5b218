// Refuses what does not exist, so that the header of another library is not taken in its place.
#error "coracle::grpcpp has no reflection yet: coracle::reflection_service of coracle/services/reflection_service.hpp"
