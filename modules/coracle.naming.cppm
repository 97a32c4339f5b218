// The module coracle.naming: the module coracle and resolvers. Link coracle::naming_module. Made of the headers by scripts/module_interfaces.py.
module;

#include <coracle/naming/with_consul.hpp>
#include <coracle/naming/with_etcd.hpp>
#include <coracle/naming/with_file_names.hpp>
#include <coracle/naming/with_kubernetes.hpp>

export module coracle.naming;

export import coracle;

export namespace coracle {
using coracle::consul_options;
using coracle::consul_registration;
using coracle::etcd_options;
using coracle::etcd_registration;
using coracle::kubernetes_ca_file;
using coracle::kubernetes_options;
using coracle::with_consul;
using coracle::with_etcd;
using coracle::with_file_names;
using coracle::with_kubernetes;
}  // namespace coracle
