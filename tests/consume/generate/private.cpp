#include "shop/v1/shop.coracle.hpp"

bool is_named(const char* name) {
  shop::v1::Item item;
  item.set_name(name);
  return item.name() == name;
}
