/** What PHP is told of a request, and how long it may take. */

/** Above the longest time that a subscription may allow: the limit is PHP's own. */
const READ_TIMEOUT_SECONDS = 610

const PARAMETERS = [
  // Where the release really lies, so that opcache never takes one release for the next.
  'SCRIPT_FILENAME $ncp_real_root$fastcgi_script_name',
  'DOCUMENT_ROOT $ncp_real_root',
  'SCRIPT_NAME $fastcgi_script_name',
  'PATH_INFO $ncp_path_info',
  'QUERY_STRING $query_string',
  'REQUEST_METHOD $request_method',
  'REQUEST_URI $request_uri',
  'REQUEST_SCHEME $scheme',
  'CONTENT_TYPE $content_type',
  'CONTENT_LENGTH $content_length',
  'DOCUMENT_URI $document_uri',
  'SERVER_PROTOCOL $server_protocol',
  'SERVER_SOFTWARE nginx',
  'SERVER_ADDR $server_addr',
  'SERVER_PORT $server_port',
  'SERVER_NAME $host',
  'REMOTE_ADDR $remote_addr',
  'REMOTE_PORT $remote_port',
  'GATEWAY_INTERFACE CGI/1.1',
  'REDIRECT_STATUS 200',
  'HTTPS $https if_not_empty',
  // The host of the request line if it has one: the Host header may name another then.
  'HTTP_HOST $host',
  // https://httpoxy.org
  'HTTP_PROXY ""',
]

export const fastcgiSettings = (): string[] => [
  ...PARAMETERS.map((parameter) => `fastcgi_param ${parameter};`),
  'fastcgi_connect_timeout 5s;',
  'fastcgi_send_timeout 60s;',
  `fastcgi_read_timeout ${READ_TIMEOUT_SECONDS}s;`,
  'fastcgi_buffers 16 16k;',
  'fastcgi_buffer_size 32k;',
  // No location here is meant for it, and a script of a customer should not choose one.
  'fastcgi_ignore_headers X-Accel-Redirect;',
]
