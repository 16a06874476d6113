/// Elements of scaled tensors: the published numbers, and every rounding against a search among them.
#include "kernels/arithmetic/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "tests/reference/plain_scaling.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

std::vector<Element> elements() {
  std::vector<Element> all;
  for (const NamedElement& e : named_elements) all.push_back(e.element);
  for (int bits = min_element_bits; bits <= max_element_bits; ++bits) all.push_back({Element::Kind::integer, {}, bits});
  for (int x = min_exponent_bits; x <= max_element_exponent_bits; ++x)
    for (const int y : {1, 2, 3, 5, 10})
      for (const auto kind : {Element::Kind::format, Element::Kind::finite}) all.push_back({kind, {x, y}, 8});
  all.push_back({Element::Kind::format, {4, 3, Overflow::nan, true}, 8});
  return all;
}

TEST(Elements, HoldTheNumbersThatOcpPublishes) {
  EXPECT_EQ(plain::numbers_of(element_e2m1), (std::vector<double>{0, 0.5, 1, 1.5, 2, 3, 4, 6}));
  EXPECT_EQ(plain::numbers_of(element_e2m3).back(), 7.5);
  EXPECT_EQ(plain::numbers_of(element_e2m3)[1], 0.125);
  EXPECT_EQ(plain::numbers_of(element_e3m2).back(), 28);
  EXPECT_EQ(plain::numbers_of(element_e3m2)[1], 0.0625);
  EXPECT_EQ(plain::numbers_of(element_e4m3).back(), 448);
  EXPECT_EQ(plain::numbers_of(element_e4m3)[1], std::ldexp(1, -9));
  EXPECT_EQ(plain::numbers_of(element_e5m2).back(), 57344);
  EXPECT_EQ(plain::numbers_of(element_e5m2)[1], std::ldexp(1, -16));
  for (const Element& e : elements()) EXPECT_EQ(largest(e), plain::numbers_of(e).back()) << name(e);
  EXPECT_EQ(largest(element_int8), 127);
  EXPECT_EQ(largest(element_int4), 7);
}

template <class T>
void expect_nearest(const Element& e, T x) {
  for (const Tie tie : {Tie::even, Tie::away}) {
    const T got = ElementRounder<T>(e, tie)(x), expected = plain::nearest(e, x, tie);
    ASSERT_TRUE(same(got, expected)) << name(e) << " of " << x << " is " << got << ", expected " << expected;
  }
}

template <class T>
void expect_nearest_everywhere(const Element& e) {
  const std::vector<double> all = plain::numbers_of(e);
  for (std::size_t i = 0; i < all.size(); i += all.size() > 2048 ? 17 : 1) {
    const double next = i + 1 < all.size() ? all[i + 1] : 2 * all[i], middle = (all[i] + next) / 2;
    for (const double x : {all[i], middle}) {
      const T exact = static_cast<T>(x);
      for (const T y : {exact, std::nextafter(exact, T{0}), std::nextafter(exact, T{1e9})}) {
        expect_nearest(e, y);
        expect_nearest(e, -y);
      }
    }
  }
  for (const T x : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::max(), std::numeric_limits<T>::min(),
                    std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::quiet_NaN()}) {
    expect_nearest(e, x);
    expect_nearest(e, -x);
  }
}

TEST(Elements, RoundToTheNearestNumberAtEveryNumberAndEveryMiddle) {
  for (const Element& e : elements()) {
    expect_nearest_everywhere<float>(e);
    expect_nearest_everywhere<double>(e);
    if (HasFatalFailure()) return;
  }
}

TEST(Elements, OfSmallFormatsRoundEveryBf16) {
  for (const Element& e : {element_e2m1, element_e2m3, element_e3m2, element_e4m3, element_e5m2, element_int8, element_int4})
    for (std::uint32_t code = 0; code < 1u << 16; ++code) {
      expect_nearest(e, bit_as<float>(code << 16));
      if (HasFatalFailure()) return;
    }
}

TEST(Elements, AreReadBackFromTheirNames) {
  for (const Element& e : elements()) {
    const bool has_a_name = e.kind == Element::Kind::integer || (e.kind == Element::Kind::format && e.format.mantissa_bits > 3);
    if (has_a_name) {
      EXPECT_EQ(parse_element(name(e)), e) << name(e);
    }
  }
  for (const NamedElement& e : named_elements) EXPECT_EQ(parse_element(e.name), e.element) << e.name;
  for (const char* text : {"", "int1", "int9", "int", "bf16", "fp32", "e8m7", "e2m0", "float", "int8 "})
    EXPECT_THROW(parse_element(text), std::invalid_argument) << text;
}

}  // namespace
}  // namespace attoscope
