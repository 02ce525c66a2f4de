// libcurl's option calls are variadic, which Swift does not import: one typed function for each shape that is used.
#ifndef PARLEY_CCURL_SHIM_H
#define PARLEY_CCURL_SHIM_H

#include <curl/curl.h>

static inline CURLcode parley_curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode parley_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode parley_curl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode parley_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode parley_curl_set_url(CURL *easy, CURLU *url) {
  return curl_easy_setopt(easy, CURLOPT_CURLU, url);
}

static inline CURLcode parley_curl_set_headers(CURL *easy, struct curl_slist *headers) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

typedef size_t (*parley_curl_data_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode parley_curl_set_write(CURL *easy, parley_curl_data_callback callback, void *context) {
  CURLcode result = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
  return result ? result : curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

static inline CURLcode parley_curl_set_header(CURL *easy, parley_curl_data_callback callback, void *context) {
  CURLcode result = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
  return result ? result : curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
}

static inline CURLcode parley_curl_set_read(CURL *easy, parley_curl_data_callback callback, void *context) {
  CURLcode result = curl_easy_setopt(easy, CURLOPT_READFUNCTION, callback);
  return result ? result : curl_easy_setopt(easy, CURLOPT_READDATA, context);
}

static inline CURLMcode parley_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode parley_curl_multi_set_socket(CURLM *multi, curl_socket_callback callback, void *context) {
  CURLMcode result = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  return result ? result : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

static inline CURLMcode parley_curl_multi_set_timer(CURLM *multi, curl_multi_timer_callback callback, void *context) {
  CURLMcode result = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  return result ? result : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

static inline long parley_curl_get_long(CURL *easy, CURLINFO info) {
  long value = 0;
  curl_easy_getinfo(easy, info, &value);
  return value;
}

static inline curl_off_t parley_curl_get_offset(CURL *easy, CURLINFO info) {
  curl_off_t value = 0;
  curl_easy_getinfo(easy, info, &value);
  return value;
}

// Constants whose macros the importer cannot see through.
static const long parley_curl_multiplex = CURLPIPE_MULTIPLEX;
static const long parley_curl_tls_1_2 = CURL_SSLVERSION_TLSv1_2;
static const long parley_curl_http_2_over_tls = CURL_HTTP_VERSION_2TLS;
static const long parley_curl_http_1_1 = CURL_HTTP_VERSION_1_1;
static const long parley_curl_global_all = CURL_GLOBAL_ALL;
static const size_t parley_curl_write_error = CURL_WRITEFUNC_ERROR;
static const size_t parley_curl_write_pause = CURL_WRITEFUNC_PAUSE;
static const size_t parley_curl_read_pause = CURL_READFUNC_PAUSE;
static const size_t parley_curl_read_abort = CURL_READFUNC_ABORT;
static const int parley_curl_go_on = CURLPAUSE_CONT;

#endif
