#include "xds/resource/field_path.hpp"

#include "base/printable.hpp"

namespace coracle::xds {

void field_path::write(std::string& to) const {
  if (!parent_) return;
  parent_->write(to);
  if (!to.empty()) to += '.';
  to += name_;
  if (index_ != none) to.append("[").append(std::to_string(index_)).append("]");
  if (key_.data()) to.append("[\"").append(base::printable(key_)).append("\"]");
}

void field_path::refuse(std::string_view reason) const {
  std::string text;
  write(text);
  if (!text.empty()) text += ' ';
  throw invalid_resource{text.append(reason)};
}

}  // namespace coracle::xds
