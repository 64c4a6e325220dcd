// What is going on, on stderr: one line that is overwritten on a terminal, plain lines elsewhere.
#pragma once

#include <string>

namespace flashwright {

class Progress {
 public:
    Progress();
    ~Progress() { clear(); }
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    void step(const std::string &text);    // something new begins
    void detail(const std::string &text);  // how far it is; only on a terminal
    void clear();                          // before something else is printed

 private:
    bool terminal_;
    std::string step_;

    void show(const std::string &line);
};

}  // namespace flashwright
