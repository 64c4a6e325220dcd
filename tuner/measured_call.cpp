#include "measured_call.h"

#include "backward_problem.h"
#include "check_status.h"
#include "forward_problem.h"

namespace flashwright {
namespace {

class MeasuredForward : public MeasuredCall {
 public:
    MeasuredForward(const ShapeSpec &shape, flashwright_dtype dtype) : problem_(shape, dtype) {}

    std::int32_t kernel(const flashwright_execution &execution) const override {
        std::int32_t index = -1;
        check(flashwright_forward_choice(&problem_.args(), &execution, &index, nullptr, 0));
        return index;
    }
    void fill() override { problem_.fill(); }
    void run(const flashwright_execution &execution) override {
        check(flashwright_forward(&problem_.args(), &execution));
    }
    double flops() const override { return forward_flops(problem_.shape()); }
    double elements() const override { return forward_elements(problem_.shape()); }

 private:
    ForwardProblem problem_;
};

class MeasuredBackward : public MeasuredCall {
 public:
    MeasuredBackward(const ShapeSpec &shape, flashwright_dtype dtype) : shape_(shape), problem_(shape, dtype) {}

    std::int32_t kernel(const flashwright_execution &execution) const override {
        std::int32_t index = -1;
        check(flashwright_backward_choice(&problem_.args(), &execution, &index, nullptr, 0));
        return index;
    }
    void fill() override { problem_.fill(); }
    void run(const flashwright_execution &execution) override {
        check(flashwright_backward(&problem_.args(), &execution));
    }
    double flops() const override { return backward_flops(shape_); }
    double elements() const override { return 2 * forward_elements(shape_); }

 private:
    ShapeSpec shape_;
    BackwardProblem problem_;
};

}  // namespace

std::unique_ptr<MeasuredCall> make_measured_call(const std::string &op, const ShapeSpec &shape,
                                                 flashwright_dtype dtype) {
    if (op == "backward") {
        return std::make_unique<MeasuredBackward>(shape, dtype);
    }
    return std::make_unique<MeasuredForward>(shape, dtype);
}

}  // namespace flashwright
