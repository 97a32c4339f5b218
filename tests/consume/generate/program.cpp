#include "shop/v1/item.coracle.hpp"
#include "shop/v1/shop.coracle.hpp"

#include <string_view>

int main() {
  shop::v1::Item item;
  item.set_name("a paddle");
  const bool named = std::string_view(shop::v1::rpc::Shop::full_name) == "shop.v1.Shop";
  return named && !item.has_price_cents() && item.ByteSizeLong() == 10 ? 0 : 1;
}
