// Node's fetch against a server: client.mjs URL TOKEN.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';

const [url, token] = process.argv.slice(2);
const auth = { authorization: `Bearer ${token}` };
const bytes = { ...auth, 'content-type': 'application/octet-stream' };
const big = Buffer.alloc(5 * 1024 * 1024, 'any content ');
const sha256 = (data) => createHash('sha256').update(data).digest('hex');

let connections = 0;
subscribe('undici:client:connected', () => (connections += 1));

async function call(method, path, status, init = {}) {
    const reply = await fetch(url + path, { method, headers: auth, ...init });
    const data = Buffer.from(await reply.arrayBuffer());
    assert.equal(reply.status, status, `${method} ${path}: ${data}`);
    return { reply, data };
}

async function refused(code, ...request) {
    const { error } = JSON.parse((await call(...request)).data);
    assert.equal(error.code, code);
}

function stream(...pieces) {
    return new ReadableStream({
        pull(controller) {
            const piece = pieces.shift();
            piece ? controller.enqueue(Buffer.from(piece)) : controller.close();
        },
    });
}

async function oneConnection() {
    assert.equal(JSON.parse((await call('GET', '/v1/info', 200)).data).wire, 1);
    await call('PUT', '/v1/fs/file?path=node/big', 204, { headers: bytes, body: big });
    assert.equal(sha256((await call('GET', '/v1/fs/file?path=node/big', 200)).data), sha256(big));
    const pieces = { headers: bytes, body: stream('in ', 'a few ', 'pieces'), duplex: 'half' };
    await call('PUT', '/v1/fs/file?path=node/small', 204, pieces);
    assert.equal(`${(await call('GET', '/v1/fs/file?path=node/small', 200)).data}`, 'in a few pieces');
    await refused('not_exist', 'GET', '/v1/fs/stat?path=node/none', 404);
    await refused('invalid', 'GET', '/v1/fs/stat?path=node//x', 400);
    await refused('unsupported', 'POST', '/v1/info', 405);
    const exec = { headers: { ...auth, 'content-type': 'application/json' }, body: '{"args":["echo","hi"]}' };
    assert.equal(`${(await call('POST', '/v1/exec', 200, exec)).data}`, '{"output":{"stdout":"aGkK","exitCode":0}}\n');
    // fetch closes the connection of a HEAD by itself: it comes last.
    const { reply, data } = await call('HEAD', '/v1/fs/file?path=node/small', 200);
    assert.deepEqual([reply.headers.get('content-length'), data.length], ['15', 0]);
    // Its pool opens another when the first is not free quite yet.
    assert.ok(connections <= 2, `${connections} connections`);
}

async function refusalBeforeTheBodyWasRead() {
    const unknown = { headers: { 'content-type': 'application/octet-stream' }, body: big.subarray(0, 512 * 1024) };
    const { reply } = await call('PUT', '/v1/fs/file?path=node/no', 401, unknown);
    assert.equal(reply.headers.get('www-authenticate'), 'Bearer');
}

async function framesAsTheyCome() {
    // The command goes on only once its first line was seen here.
    const script = 'echo first; while [ ! -e go ]; do sleep 0.02; done; echo second';
    const command = { args: ['sh', '-c', script], dir: 'node', stream: true, timeoutMs: 20000 };
    const headers = { ...auth, 'content-type': 'application/json' };
    const reply = await fetch(`${url}/v1/exec`, { method: 'POST', headers, body: JSON.stringify(command) });
    assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'application/x-ndjson']);
    let text = '';
    const frames = [];
    for await (const chunk of reply.body.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        const lines = text.split('\n');
        text = lines.pop();
        for (const line of lines) {
            frames.push(JSON.parse(line));
            if (frames.length === 1) await call('PUT', '/v1/fs/file?path=node/go', 204, { headers: bytes, body: '' });
        }
    }
    assert.deepEqual(frames, [{ data: 'Zmlyc3QK' }, { data: 'c2Vjb25kCg==' }, { output: { exitCode: 0 } }]);
}

await oneConnection();
await refusalBeforeTheBodyWasRead();
await framesAsTheyCome();
