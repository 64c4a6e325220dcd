#include "measured_call.h"

#include "backward_sample.h"
#include "check_status.h"
#include "forward_sample.h"

namespace flashwright {
namespace {

template <typename Choice, typename Args>
ChosenKernel choose_by(Choice choice, const Args &args, const flashwright_execution &execution) {
    ChosenKernel chosen;
    char reason[512] = "";
    check(choice(&args, &execution, &chosen.index, reason, sizeof reason));
    chosen.reason = reason;
    return chosen;
}

class MeasuredForward : public MeasuredCall {
 public:
    MeasuredForward(const ShapeSpec &shape, flashwright_dtype dtype) : problem_(shape, dtype) {}

    ChosenKernel choose(const flashwright_execution &execution) const override {
        return choose_by(flashwright_forward_choice, problem_.args(), execution);
    }
    void fill() override { problem_.fill(); }
    void run(const flashwright_execution &execution) override {
        check(flashwright_forward(&problem_.args(), &execution));
    }
    double flops() const override { return forward_flops(problem_.shape()); }
    double elements() const override { return forward_elements(problem_.shape()); }

 private:
    ForwardSample problem_;
};

class MeasuredBackward : public MeasuredCall {
 public:
    MeasuredBackward(const ShapeSpec &shape, flashwright_dtype dtype) : shape_(shape), problem_(shape, dtype) {}

    ChosenKernel choose(const flashwright_execution &execution) const override {
        return choose_by(flashwright_backward_choice, problem_.args(), execution);
    }
    void fill() override { problem_.fill(); }
    void run(const flashwright_execution &execution) override {
        check(flashwright_backward(&problem_.args(), &execution));
    }
    double flops() const override { return backward_flops(shape_); }
    double elements() const override { return 2 * forward_elements(shape_); }

 private:
    ShapeSpec shape_;
    BackwardSample problem_;
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
