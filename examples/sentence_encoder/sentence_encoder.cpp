#include "sentence_encoder.h"

#include "flashwright/flashwright.hpp"
#include "safetensors.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>

namespace {

nlohmann::json read_json(const std::string &path) {
    std::ifstream file(path);
    nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
    if (!json.is_object()) throw std::runtime_error(path + ": expected a file with a JSON object");
    return json;
}

void add(const std::vector<float> &source, std::vector<float> &target) {
    for (std::size_t i = 0; i < target.size(); ++i) target[i] += source[i];
}

}  // namespace

// Sentences side by side, padded to the longest: [sentence, token, …]. Rows of padding hold 0 and are skipped.
struct SentenceEncoder::Batch {
    std::vector<std::int32_t> lengths;
    std::size_t longest = 0;
    std::vector<float> hidden;  // [sentence, token, width]

    std::size_t rows() const { return lengths.size() * longest; }

    // work(first row, rows) for the tokens of each sentence.
    template <typename Work>
    void for_each_sentence(const Work &work) const {
        for (std::size_t s = 0; s < lengths.size(); ++s) work(s * longest, static_cast<std::size_t>(lengths[s]));
    }

    std::vector<float> apply(const Linear &linear, const std::vector<float> &x) const {
        const std::size_t inputs = x.size() / rows();
        std::vector<float> y(rows() * linear.outputs());
        for_each_sentence([&](std::size_t first, std::size_t count) {
            linear(&x[first * inputs], count, &y[first * linear.outputs()]);
        });
        return y;
    }

    void normalise(const LayerNorm &norm) {
        for_each_sentence(
            [&](std::size_t first, std::size_t count) { norm(&hidden[first * norm.weight.size()], count); });
    }
};

SentenceEncoder::SentenceEncoder(const std::string &folder) : word_piece_(folder + "/vocab.txt") {
    SafetensorsFile file(folder + "/model.safetensors");
    std::size_t layers = 0, intermediate_width = 0, words = 0, positions = 0, types = 0;
    try {
        longest_ = read_json(folder + "/sentence_bert_config.json").at("max_seq_length");
        const nlohmann::json config = read_json(folder + "/config.json");
        width_ = config.at("hidden_size");
        heads_ = config.at("num_attention_heads");
        epsilon_ = config.at("layer_norm_eps");
        layers = config.at("num_hidden_layers");
        intermediate_width = config.at("intermediate_size");
        words = config.at("vocab_size");
        positions = config.at("max_position_embeddings");
        types = config.at("type_vocab_size");
    } catch (const nlohmann::json::exception &error) {
        throw std::runtime_error(folder + ": " + error.what());
    }
    if (heads_ == 0 || width_ % heads_ != 0 || longest_ < 2 || longest_ > positions || types == 0 ||
        words < word_piece_.size())
        throw std::runtime_error(folder + ": the sizes in its configuration do not fit each other");
    words_ = file.read("embeddings.word_embeddings.weight", {words, width_});
    positions_ = file.read("embeddings.position_embeddings.weight", {positions, width_});
    type_ = file.read("embeddings.token_type_embeddings.weight", {types, width_});
    embedding_norm_ = read_norm(file, "embeddings.LayerNorm");
    for (std::size_t n = 0; n < layers; ++n)
        layers_.push_back(read_layer(file, "encoder.layer." + std::to_string(n) + ".", intermediate_width));
}

SentenceEncoder::Layer SentenceEncoder::read_layer(SafetensorsFile &file, const std::string &prefix,
                                                   std::size_t intermediate_width) const {
    const auto linear = [&](const std::string &name, std::size_t outputs, std::size_t inputs) {
        return Linear(file.read(prefix + name + ".weight", {outputs, inputs}),
                      file.read(prefix + name + ".bias", {outputs}));
    };
    // The three projections as one, whose output holds q, k and v of a token side by side.
    std::vector<float> weights, bias;
    for (const std::string name : {"query", "key", "value"}) {
        const auto part = file.read(prefix + "attention.self." + name + ".weight", {width_, width_});
        const auto part_bias = file.read(prefix + "attention.self." + name + ".bias", {width_});
        weights.insert(weights.end(), part.begin(), part.end());
        bias.insert(bias.end(), part_bias.begin(), part_bias.end());
    }
    return {Linear(weights, std::move(bias)),
            linear("attention.output.dense", width_, width_),
            linear("intermediate.dense", intermediate_width, width_),
            linear("output.dense", width_, intermediate_width),
            read_norm(file, prefix + "attention.output.LayerNorm"),
            read_norm(file, prefix + "output.LayerNorm")};
}

LayerNorm SentenceEncoder::read_norm(SafetensorsFile &file, const std::string &name) const {
    return {file.read(name + ".weight", {width_}), file.read(name + ".bias", {width_}), epsilon_};
}

std::vector<float> SentenceEncoder::embed(const std::vector<std::vector<std::int32_t>> &sentences) const {
    if (sentences.empty()) return {};
    Batch batch;
    look_up(sentences, batch);
    for (const Layer &layer : layers_) {
        attend(layer, batch);
        feed_forward(layer, batch);
    }
    return pool(batch);
}

void SentenceEncoder::look_up(const std::vector<std::vector<std::int32_t>> &sentences, Batch &batch) const {
    for (const auto &ids : sentences) {
        batch.lengths.push_back(static_cast<std::int32_t>(ids.size()));
        batch.longest = std::max(batch.longest, ids.size());
    }
    batch.hidden.resize(batch.rows() * width_);
    float *row = batch.hidden.data();
    for (const auto &ids : sentences) {
        for (std::size_t t = 0; t < ids.size(); ++t) {
            const float *word = &words_[static_cast<std::size_t>(ids[t]) * width_];
            for (std::size_t c = 0; c < width_; ++c)
                row[t * width_ + c] = word[c] + positions_[t * width_ + c] + type_[c];
        }
        row += batch.longest * width_;
    }
    batch.normalise(embedding_norm_);
}

// hidden = norm(hidden + Linear(attention(hidden))).
void SentenceEncoder::attend(const Layer &layer, Batch &batch) const {
    const std::vector<float> qkv = batch.apply(layer.qkv, batch.hidden);  // [sentence, token, 3, head, channel]
    std::vector<float> attended(batch.rows() * width_);                   // [sentence, token, head, channel]

    // Every head is read and written where it lies; key_lengths masks the padding.
    const auto sentences = static_cast<std::int64_t>(batch.lengths.size());
    const auto seqlen = static_cast<std::int64_t>(batch.longest), heads = static_cast<std::int64_t>(heads_);
    const auto width = static_cast<std::int64_t>(width_), head_dim = width / heads;
    const auto part = [&](std::int64_t n) {
        return flashwright::ConstTensorView(qkv.data() + n * width, {sentences, heads, seqlen, head_dim},
                                            {seqlen * 3 * width, head_dim, 3 * width, 1});
    };
    const flashwright::TensorView out(attended.data(), {sentences, heads, seqlen, head_dim},
                                      {seqlen * width, head_dim, width, 1});
    flashwright::ScoreOptions options;
    options.key_lengths = flashwright::ConstTensorView(batch.lengths.data(), {sentences});
    const flashwright::Status status = flashwright::forward(part(0), part(1), part(2), out, {}, options);
    if (!status.ok()) throw std::runtime_error(status.message());

    add(batch.apply(layer.attention_output, attended), batch.hidden);
    batch.normalise(layer.attention_norm);
}

// hidden = norm(hidden + Linear(gelu(Linear(hidden)))).
void SentenceEncoder::feed_forward(const Layer &layer, Batch &batch) const {
    std::vector<float> wide = batch.apply(layer.intermediate, batch.hidden);
    gelu(wide);
    add(batch.apply(layer.output, wide), batch.hidden);
    batch.normalise(layer.output_norm);
}

// The mean of a sentence's tokens, scaled to length 1.
std::vector<float> SentenceEncoder::pool(const Batch &batch) const {
    std::vector<float> embeddings(batch.lengths.size() * width_);
    float *embedding = embeddings.data();
    batch.for_each_sentence([&](std::size_t first, std::size_t count) {
        for (std::size_t t = 0; t < count; ++t)
            for (std::size_t c = 0; c < width_; ++c) embedding[c] += batch.hidden[(first + t) * width_ + c];
        float squares = 0;
        for (std::size_t c = 0; c < width_; ++c) squares += embedding[c] * embedding[c];
        for (std::size_t c = 0; c < width_; ++c) embedding[c] /= std::sqrt(squares);
        embedding += width_;
    });
    return embeddings;
}
