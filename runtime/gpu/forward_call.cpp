#include "forward_call.h"

#include <cstring>

#include "runtime/src/status.h"

namespace flashwright {

flashwright_status GpuForwardCall::prepare() {
    flashwright_status status = tensors_.prepare();
    for (DeviceTensor *tensor :
         {&tensors_.q, &tensors_.k, &tensors_.v, &tensors_.bias, &tensors_.mask, &tensors_.result}) {
        if (!failed(status) && tensor->host() == nullptr) status = tensor->allocate();
    }
    if (failed(status)) return status;
    pack_elements(p_, p_.q, tensors_.q);
    pack_elements(p_, p_.k, tensors_.k, true);
    pack_elements(p_, p_.v, tensors_.v, true);
    pack_pairs(p_, tensors_.bias, tensors_.mask);
    return status;
}

void GpuForwardCall::deliver() const {
    for (std::int64_t b = 0; b < p_.batch; ++b) {
        for (std::int64_t h = 0; h < p_.heads; ++h) {
            for (std::int64_t i = 0; i < p_.seqlen_q; ++i) deliver_row(b, h, i);
        }
    }
}

void GpuForwardCall::deliver_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const DeviceTensor &result = tensors_.result;
    const std::int64_t size = p_.out.element_size;
    const char *row = result.data<char>() + (b * result.stride(3) + h * result.stride(2) + i * result.stride(1)) * size;
    char *out = p_.out.at(b, h, i);
    const GpuTiles &tiles = kernel_.tiles;
    const ResultLayout<int> layout = tiles.result_layout(static_cast<int>(size));
    for (int d = 0; d < static_cast<int>(p_.head_dim_v); ++d) {
        std::memcpy(out + d * p_.out.strides[kChannel] * size, row + layout.column_of(d) * size,
                    static_cast<std::size_t>(size));
    }
    if (p_.lse.given) std::memcpy(p_.lse.at(b, h, i), row + tiles.channels_per_thread() * size, sizeof(float));
}

}  // namespace flashwright
