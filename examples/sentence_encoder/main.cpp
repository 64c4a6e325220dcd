// Which sentences of a file say the same? Prints for each line the line most like it, with their cosine.
//
//     sentence_encoder MODEL_FOLDER SENTENCES [OUTPUT]
//
// OUTPUT gets a JSON object a line: the sentence's token ids and its embedding.
#include "sentence_encoder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <numeric>
#include <stdexcept>

namespace {

std::vector<std::string> read_lines(const std::string &path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    if (lines.size() < 2) throw std::runtime_error(path + ": expected a file with two lines at least");
    return lines;
}

void print_nearest(const std::vector<std::string> &sentences, const std::vector<float> &embeddings, std::size_t width) {
    for (std::size_t i = 0; i < sentences.size(); ++i) {
        std::size_t nearest = i;
        float best = -2;
        for (std::size_t j = 0; j < sentences.size(); ++j) {
            const float *a = &embeddings[i * width], *b = &embeddings[j * width];
            const float cosine = std::inner_product(a, a + width, b, 0.0f);
            if (j != i && cosine > best) {
                best = cosine;
                nearest = j;
            }
        }
        std::printf("%.3f  %s\n       %s\n", static_cast<double>(best), sentences[i].c_str(),
                    sentences[nearest].c_str());
    }
}

void write(const std::string &path, const std::vector<std::vector<std::int32_t>> &tokens,
           const std::vector<float> &embeddings, std::size_t width) {
    std::ofstream file(path);
    const float *row = embeddings.data();
    for (const auto &ids : tokens) {
        file << nlohmann::json{{"tokens", ids}, {"embedding", std::vector<float>(row, row + width)}} << "\n";
        row += width;
    }
    if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

void run(const std::string &folder, const std::string &input, const char *output) {
    const SentenceEncoder encoder(folder);
    const std::vector<std::string> sentences = read_lines(input);
    std::vector<std::vector<std::int32_t>> tokens;
    std::size_t count = 0;
    for (const std::string &sentence : sentences) {
        tokens.push_back(encoder.tokens(sentence));
        count += tokens.back().size();
    }
    const auto start = std::chrono::steady_clock::now();
    const std::vector<float> embeddings = encoder.embed(tokens);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    print_nearest(sentences, embeddings, encoder.width());
    std::fprintf(stderr, "%zu sentences, %zu tokens: %.0f ms\n", sentences.size(), count, time.count());
    if (output) write(output, tokens, embeddings, encoder.width());
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 3 || argc > 4) {
        std::fprintf(stderr, "usage: sentence_encoder MODEL_FOLDER SENTENCES [OUTPUT]\n");
        return 2;
    }
    try {
        run(argv[1], argv[2], argc > 3 ? argv[3] : nullptr);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
}
