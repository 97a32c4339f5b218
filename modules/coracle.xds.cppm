// The module coracle.xds: the module coracle, and channels and servers that a control plane configures. Link coracle::xds_module. Made of the headers by scripts/module_interfaces.py.
module;

#include <coracle/xds/credentials.hpp>
#include <coracle/xds/csds_service.hpp>
#include <coracle/xds/xds.hpp>
#include <coracle/xds/xds_filter.hpp>
#include <coracle/xds/xds_server.hpp>

export module coracle.xds;

export import coracle;

export namespace coracle {
using coracle::balancing_maker;
using coracle::balancing_makers;
using coracle::csds_scope;
using coracle::csds_service;
using coracle::xds_client_call;
using coracle::xds_credentials;
using coracle::xds_filter;
using coracle::xds_filter_config;
using coracle::xds_filter_type;
using coracle::xds_options;
using coracle::xds_resolver;
using coracle::xds_server;
using coracle::xds_server_credentials;
using coracle::xds_server_options;
}  // namespace coracle
