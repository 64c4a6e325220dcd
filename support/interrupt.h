// SIGINT (Ctrl-C) and SIGTERM. They end the program at once, except where something must be finished first.
#pragma once

namespace flashwright {

void install_interrupt_handler();
bool interrupt_requested();

// While one exists, an interrupt is only noted; it is carried out when the last one goes.
class DeferInterrupt {
 public:
    DeferInterrupt();
    ~DeferInterrupt();
    DeferInterrupt(const DeferInterrupt &) = delete;
    DeferInterrupt &operator=(const DeferInterrupt &) = delete;
};

}  // namespace flashwright
