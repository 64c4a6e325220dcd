// Progress on stderr: one line that is overwritten on a terminal, plain lines elsewhere.
#pragma once

#include <string>

namespace flashwright {

class Progress {
 public:
    Progress();
    ~Progress() { clear(); }
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    void step(const std::string &text);    // a new step begins
    void detail(const std::string &text);  // progress within the step; only on a terminal
    void clear();                          // before other output

 private:
    bool terminal_;
    std::string step_;

    void show(const std::string &line);
};

}  // namespace flashwright
