// subject_names: whether a certificate has a name that a control plane accepts (match_subject_alt_names; gRFC
// A29).
#pragma once

#include "coracle/security/auth_context.hpp"
#include "xds/routing/text_matcher.hpp"

#include <vector>

namespace coracle::xds {

// Whether one of the subjectAltNames fits one of the matchers; true without matchers. A DNS name fits an
// exact matcher as in the verification of a host: without regard to case, and "*" stands for one label.
[[nodiscard]] bool has_accepted_name(const std::vector<text_matcher>& accepted,
                                     const std::vector<peer_identity>& names);

}  // namespace coracle::xds
