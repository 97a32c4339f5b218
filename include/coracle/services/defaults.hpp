// with_defaults(): what a server should have beside its own services.
#pragma once

#include "coracle/services/health_service.hpp"

namespace coracle {

class server;

// Adds health, reflection (v1 and v1alpha) and channelz, which live as long as the server. Before the first listen().
// Gives the health service, as long-lived, for those who have more to say than that the server serves:
//
//   coracle::health_service& health = coracle::with_defaults(server);
//
// To whoever can connect, and no interceptor refuses, reflection tells every .proto whose C++ is linked into the program,
// served or not, and channelz who else is connected: on a port that strangers reach, add what you want of the three
// by hand.
health_service& with_defaults(server& to);

}  // namespace coracle
