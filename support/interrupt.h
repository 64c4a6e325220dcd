// SIGINT (Ctrl-C) and SIGTERM. They end the program at once, except while a DeferInterrupt exists.
#pragma once

namespace flashwright {

void install_interrupt_handler();
bool interrupt_requested();

// While one exists, an interrupt is only noted. It takes effect when the last one is destroyed.
class DeferInterrupt {
 public:
    DeferInterrupt();
    ~DeferInterrupt();
    DeferInterrupt(const DeferInterrupt &) = delete;
    DeferInterrupt &operator=(const DeferInterrupt &) = delete;
};

}  // namespace flashwright
