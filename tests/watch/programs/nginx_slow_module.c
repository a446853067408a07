/* An nginx module: `slow MILLISECONDS;` in a location makes its handler sleep that long. */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <netdb.h>
#include <unistd.h>

struct slow_settings {
    ngx_int_t milliseconds;
};

extern ngx_module_t ngx_http_slow_module;

__attribute__((noinline)) static void fetch_quota(ngx_int_t milliseconds)
{
    struct addrinfo *found;
    if (getaddrinfo("127.0.0.1", "80", NULL, &found) == 0) /* line: getaddrinfo */
        freeaddrinfo(found);
    usleep((useconds_t)milliseconds * 1000); /* line: sleep */
    __asm__ volatile("" ::: "memory");
}

static ngx_int_t handle(ngx_http_request_t *request)
{
    struct slow_settings *settings = ngx_http_get_module_loc_conf(request, ngx_http_slow_module);
    fetch_quota(settings->milliseconds);
    request->headers_out.status = NGX_HTTP_NO_CONTENT;
    request->headers_out.content_length_n = 0;
    request->header_only = 1;
    return ngx_http_send_header(request);
}

static char *set(ngx_conf_t *conf, ngx_command_t *command, void *settings)
{
    ngx_http_core_loc_conf_t *location =
        ngx_http_conf_get_module_loc_conf(conf, ngx_http_core_module);
    location->handler = handle;
    return ngx_conf_set_num_slot(conf, command, settings);
}

static void *create(ngx_conf_t *conf)
{
    struct slow_settings *settings = ngx_pcalloc(conf->pool, sizeof *settings);
    if (settings)
        settings->milliseconds = NGX_CONF_UNSET;
    return settings;
}

static ngx_command_t commands[] = {{ngx_string("slow"), NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1, set,
                                    NGX_HTTP_LOC_CONF_OFFSET,
                                    offsetof(struct slow_settings, milliseconds), NULL},
                                   ngx_null_command};

static ngx_http_module_t context = {NULL, NULL, NULL, NULL, NULL, NULL, create, NULL};

ngx_module_t ngx_http_slow_module = {NGX_MODULE_V1, &context, commands, NGX_HTTP_MODULE,
                                     NULL,          NULL,     NULL,     NULL,
                                     NULL,          NULL,     NULL,     NGX_MODULE_V1_PADDING};

/* What nginx's own build would write beside it. */
ngx_module_t *ngx_modules[] = {&ngx_http_slow_module, NULL};
char *ngx_module_names[] = {"ngx_http_slow_module", NULL};
char *ngx_module_order[] = {NULL};
