// The echo service on gRPC C++'s callback API, as its own documentation has servers written: measured beside ours in the same run.
//
//   grpc-cpp-server --port 0 --port-file FILE [--tls-certificate FILE --tls-key FILE]

#include <grpcpp/grpcpp.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

#include "bench.grpc.pb.h"

using grpc::CallbackServerContext;
using grpc::Status;
using parley::testing::v1::EchoRequest;
using parley::testing::v1::EchoResponse;
using parley::testing::v1::EchoService;

namespace {

constexpr int64_t kFirst = int64_t{1} << 28;

class Flooding final : public grpc::ServerWriteReactor<EchoResponse> {
 public:
  explicit Flooding(int64_t count) : count_(count) {
    message_.set_text(std::string(56, 'x'));
    Next();
  }
  void OnWriteDone(bool ok) override { ok ? Next() : Finish(Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  void Next() {
    if (made_ == count_) return Finish(Status::OK);
    message_.set_sequence(kFirst + made_++);
    StartWrite(&message_);
  }
  EchoResponse message_;
  const int64_t count_;
  int64_t made_ = 0;
};

class Draining final : public grpc::ServerReadReactor<EchoRequest> {
 public:
  explicit Draining(EchoResponse* reply) : reply_(reply) { StartRead(&request_); }
  void OnReadDone(bool ok) override {
    if (!ok) {
      reply_->set_text(std::to_string(count_));
      reply_->set_sequence(sum_);
      return Finish(Status::OK);
    }
    if (request_.text().size() != 56) return Finish(Status(grpc::StatusCode::INVALID_ARGUMENT, "the text is not as sent"));
    count_++;
    sum_ += request_.sequence();
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  EchoResponse* const reply_;
  EchoRequest request_;
  int64_t count_ = 0, sum_ = 0;
};

class Returning final : public grpc::ServerBidiReactor<EchoRequest, EchoResponse> {
 public:
  Returning() { StartRead(&request_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(Status::OK);
    reply_.set_text(request_.text());
    reply_.set_body(request_.body());
    reply_.set_sequence(request_.sequence());
    StartWrite(&reply_);
  }
  void OnWriteDone(bool ok) override { ok ? StartRead(&request_) : Finish(Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  EchoRequest request_;
  EchoResponse reply_;
};

class Service final : public EchoService::CallbackService {
  grpc::ServerUnaryReactor* Echo(CallbackServerContext* context, const EchoRequest* request, EchoResponse* reply) override {
    reply->set_text(request->text());
    reply->set_body(request->body());
    reply->set_sequence(request->sequence());
    return Done(context);
  }
  grpc::ServerUnaryReactor* Upload(CallbackServerContext* context, const EchoRequest* request, EchoResponse* reply) override {
    reply->set_sequence(static_cast<int64_t>(request->body().size()));
    return Done(context);
  }
  grpc::ServerWriteReactor<EchoResponse>* Flood(CallbackServerContext*, const EchoRequest* request) override {
    return new Flooding(request->sequence());
  }
  grpc::ServerReadReactor<EchoRequest>* Drain(CallbackServerContext*, EchoResponse* reply) override { return new Draining(reply); }
  grpc::ServerBidiReactor<EchoRequest, EchoResponse>* PingPong(CallbackServerContext*) override { return new Returning; }

  static grpc::ServerUnaryReactor* Done(CallbackServerContext* context) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(Status::OK);
    return reactor;
  }
};

std::string Content(const char* path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace

int main(int count, char** arguments) {
  std::string port = "0", port_file;
  grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
  for (int i = 1; i + 1 < count; i += 2) {
    if (!std::strcmp(arguments[i], "--port")) port = arguments[i + 1];
    else if (!std::strcmp(arguments[i], "--port-file")) port_file = arguments[i + 1];
    else if (!std::strcmp(arguments[i], "--tls-certificate")) pair.cert_chain = Content(arguments[i + 1]);
    else if (!std::strcmp(arguments[i], "--tls-key")) pair.private_key = Content(arguments[i + 1]);
    else return std::fprintf(stderr, "grpc-cpp-server: unknown option %s\n", arguments[i]), 64;
  }
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (!pair.private_key.empty()) {
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back(pair);
    credentials = grpc::SslServerCredentials(options);
  }
  // Signals are waited for, in no other thread.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  Service service;
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort("127.0.0.1:" + port, credentials, &bound);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (!server || !bound) return std::fprintf(stderr, "grpc-cpp-server: cannot listen\n"), 69;
  if (!port_file.empty()) std::ofstream(port_file) << bound << "\n";
  int signal = 0;
  sigwait(&signals, &signal);
  // At once: what still runs is of no interest to anybody, and shutting down waits for it.
  std::_Exit(0);
}
