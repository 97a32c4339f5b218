#include "shop/v1/shop.coracle.hpp"

#include <string_view>

int main() {
  shop::v1::Item item;
  item.set_name("a paddle");
  return std::string_view(shop::v1::wire::v1::Shop::full_name) == "shop.v1.Shop" && item.ByteSizeLong() == 10
             ? 0
             : 1;
}
