// The elementary functions of the kernels against correctly rounded values.
#include "algorithm/scalar_math.h"

#include <Halide.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace flashwright::test {

namespace {

using Function = Halide::Expr (*)(const Halide::Expr &);

// The function of every argument, vectorised as kernels have it.
template <typename T>
std::vector<T> evaluate(Function function, std::vector<T> arguments) {
    arguments.resize((arguments.size() + 15) / 16 * 16, T(0));
    Halide::Buffer<T> in(arguments.data(), static_cast<int>(arguments.size()));
    Halide::Var x("x");
    Halide::Func f("f");
    f(x) = function(in(x));
    f.vectorize(x, 16);
    const Halide::Buffer<T> out = f.realize({in.width()});
    return {out.begin(), out.end()};
}

template <typename T>
std::vector<T> spread(double from, double to, int count) {
    std::vector<T> values;
    for (int n = 0; n < count; n++)
        values.push_back(static_cast<T>(from + (to - from) * (static_cast<long double>(n) / (count - 1))));
    return values;
}

template <typename T>
double largest_relative_error(Function function, long double (*exact)(long double), const std::vector<T> &arguments) {
    const std::vector<T> got = evaluate<T>(function, arguments);
    long double worst = 0;
    for (std::size_t n = 0; n < arguments.size(); n++) {
        const long double value = exact(arguments[n]);
        const long double error = std::fabs((got[n] - value) / value);
        if (!(error <= worst)) worst = error;
    }
    return static_cast<double>(worst);
}

long double reference_exp(long double x) { return std::exp(x); }

long double reference_tanh(long double x) { return std::tanh(x); }

constexpr int kCount = 1 << 20;

}  // namespace

// The bound that scalar_math.h states, and half an ulp of the argument: a weight e^x is itself small where |x| is
// large.
template <typename T>
void check_exp(double bound) {
    EXPECT_LT(largest_relative_error<T>(exp_nonpositive, reference_exp, spread<T>(-1, 0, kCount)), bound);
    EXPECT_LT(largest_relative_error<T>(exp_nonpositive, reference_exp, spread<T>(-1e-4, 0, kCount)), bound);
    const std::vector<T> arguments = spread<T>(sizeof(T) == 4 ? -87 : -708, 0, kCount);
    const std::vector<T> got = evaluate<T>(exp_nonpositive, arguments);
    for (std::size_t n = 0; n < arguments.size(); n++) {
        const long double exact = reference_exp(arguments[n]);
        const double allowed = bound - arguments[n] * std::numeric_limits<T>::epsilon() / 2;
        ASSERT_LT(std::fabs(got[n] - exact), allowed * exact) << arguments[n];
    }
}

TEST(ExpNonpositive, ErrorInF32) { check_exp<float>(2e-7); }

TEST(ExpNonpositive, ErrorInF64) { check_exp<double>(3e-14); }

template <typename T>
void check_ends() {
    const T infinity = std::numeric_limits<T>::infinity(), lowest = std::numeric_limits<T>::lowest();
    const std::vector<T> got = evaluate<T>(
        exp_nonpositive, {0, T(-0.0), -infinity, lowest, T(-1e30), T(-1000), std::numeric_limits<T>::quiet_NaN()});
    EXPECT_EQ(got[0], 1);
    EXPECT_EQ(got[1], 1);
    for (int n : {2, 3, 4, 5}) EXPECT_EQ(got[static_cast<std::size_t>(n)], 0) << n;
    EXPECT_TRUE(std::isnan(got[6]));
}

TEST(ExpNonpositive, Ends) {
    check_ends<float>();
    check_ends<double>();
}

TEST(ExpNonpositive, NeverNegativeAndAtMostOneByRounding) {
    for (float value : evaluate<float>(exp_nonpositive, spread<float>(-100, 0, kCount))) {
        ASSERT_GE(value, 0);
        ASSERT_LE(value, 1 + 2e-7f);
    }
}

TEST(TanhAccurate, Error) {
    for (auto [from, to] : {std::pair{-30.0, 30.0}, {-0.5, 0.5}, {1e-6, 1e-3}}) {
        const int odd = kCount - 1 - (from < 0);  // never exactly 0, where the relative error has no meaning
        EXPECT_LT(largest_relative_error<float>(tanh_accurate, reference_tanh, spread<float>(from, to, odd + 1)), 5e-7)
            << from;
        EXPECT_LT(largest_relative_error<double>(tanh_accurate, reference_tanh, spread<double>(from, to, odd + 1)),
                  1e-13)
            << from;
    }
    const std::vector<double> ends =
        evaluate<double>(tanh_accurate, {0, 1e300, -1e300, std::numeric_limits<double>::quiet_NaN()});
    EXPECT_EQ(ends[0], 0);
    EXPECT_EQ(ends[1], 1);
    EXPECT_EQ(ends[2], -1);
    EXPECT_TRUE(std::isnan(ends[3]));
}

TEST(IsNegativeInfinity, SurvivesFastMath) {
    const std::vector<float> got =
        evaluate<float>([](const Halide::Expr &x) { return Halide::cast<float>(is_negative_infinity(x)); },
                        {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::lowest(), 0,
                         std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()});
    EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 5), (std::vector<float>{1, 0, 0, 0, 0}));
}

}  // namespace flashwright::test
