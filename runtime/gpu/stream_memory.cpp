#include "stream_memory.h"

#include <cinttypes>
#include <cstring>

#include "device.h"
#include "device_view.h"
#include "runtime/src/status.h"

namespace flashwright {
namespace {

constexpr std::size_t kAlignment = 256;  // as the driver's own allocations have

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

flashwright_status check_device_strides(const StridedTensor &view) {
    if (!view.given || view.empty()) return ok_status();
    std::int64_t elements = 1, before = 0, after = 0;  // what lies before the first element, and after it
    for (int axis = kBatch; axis <= kChannel; ++axis) {
        const std::int64_t extent = view.shape[axis], stride = view.strides[axis];
        const std::int64_t span = extent * (stride < 0 ? -stride : stride);
        if (span > kMostElements || extent > kMostElements / elements) {
            return make_status(FLASHWRIGHT_UNSUPPORTED,
                               "%s: expected less than 2^31 elements in device memory, got extent %" PRId64
                               " with stride %" PRId64,
                               view.name, extent, stride);
        }
        elements *= extent;
        (stride < 0 ? before : after) += (extent - 1) * (stride < 0 ? -stride : stride);
    }
    if (before + after > kMostElements) {
        return make_status(FLASHWRIGHT_UNSUPPORTED,
                           "%s: expected elements less than 2^31 apart in device memory, got %" PRId64, view.name,
                           before + after);
    }
    return ok_status();
}

StreamMemory::~StreamMemory() {
    if (address_ != 0) device_.streams->deallocate(call_, address_);
    if (entered_) device_.streams->leave(call_);
}

int StreamMemory::enter() {
    const int result = device_.streams->enter(call_);
    entered_ = result == halide_error_code_success;
    return result;
}

void StreamMemory::add(DeviceTensor *tensor) {
    if (count_ < kTensors) tensors_[count_] = tensor;
    ++count_;
}

int StreamMemory::allocate() {
    if (count_ > kTensors) return halide_error_code_internal_error;
    std::size_t sent = 0, kept = 0;
    for (int n = 0; n < count_; ++n) {
        (tensors_[n]->host() != nullptr ? sent : kept) += aligned(tensors_[n]->bytes());
    }
    int result = device_.streams->allocate(call_, sent + kept, &address_);
    if (result == halide_error_code_success) result = send(sent);
    std::uint64_t next_sent = address_, next_kept = address_ + sent;
    for (int n = 0; n < count_ && result == halide_error_code_success; ++n) {
        std::uint64_t &address = tensors_[n]->host() != nullptr ? next_sent : next_kept;
        result = tensors_[n]->place(address, device_.interface());
        address += aligned(tensors_[n]->bytes());
    }
    return result;
}

int StreamMemory::send(std::size_t bytes) {
    const std::unique_ptr<char, void (*)(void *)> staged(static_cast<char *>(std::malloc(bytes)), std::free);
    if (staged == nullptr) {
        return static_cast<DeviceCall *>(call_)->fail(
            make_status(FLASHWRIGHT_OUT_OF_MEMORY,
                        "args: expected %zu bytes of host memory for what is sent to the device, got none", bytes));
    }
    char *next = staged.get();
    for (int n = 0; n < count_; ++n) {
        if (tensors_[n]->host() == nullptr) continue;
        std::memcpy(next, tensors_[n]->host(), tensors_[n]->bytes());
        next += aligned(tensors_[n]->bytes());
    }
    return device_.streams->send(call_, address_, staged.get(), bytes);
}

int StreamMemory::place(DeviceTensor *tensor, const StridedTensor &view) {
    return tensor->place(reinterpret_cast<std::uint64_t>(view.data), device_.interface());
}

int StreamMemory::copy(const StridedTensor &from, const StridedTensor &to, DeviceTensor *rows,
                       const ResultParts<int> &parts) {
    if (from.empty() || to.empty()) return halide_error_code_success;
    DeviceView source(device_, call_, from), target(device_, call_, to);
    for (const DeviceView *view : {&source, &target}) {
        if (view->error() != halide_error_code_success) return view->error();
    }
    const GpuStreamKernels &kernels = device_.stream_kernels;
    const GpuStreamKernels::Copy kernel = from.element_size == 1   ? kernels.copy_bool
                                          : from.element_size == 2 ? kernels.copy_f16
                                          : parts.parts > 1        ? kernels.copy_parts_f32
                                                                   : kernels.copy_f32;
    return kernel(call_, source.buffer(), rows->input(), parts.parts, parts.turn, parts.columns, target.buffer());
}

}  // namespace flashwright
