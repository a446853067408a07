// A Node script that hangs in known places: a function computes, another waits for a child process.
const fs = require('fs');
const { execSync } = require('child_process');

function countPrimes(milliseconds) { // line: compute
    const end = Date.now() + milliseconds;
    let primes = 0;
    for (let n = 2; Date.now() < end; n++) {
        let prime = true;
        for (let d = 2; d * d <= n && prime; d++)
            prime = n % d !== 0;
        if (prime)
            primes++;
    }
    return primes;
}

function onRequest() {
    return countPrimes(600);
}

function waitForChild() { // line: child
    execSync('sleep 0.5');
}

let turns = 0;
const timer = setInterval(() => {
    turns++;
    if (turns === 15)
        onRequest();
    if (turns === 20)
        fs.readFileSync('/etc/hostname');
    if (turns === 30)
        waitForChild();
    if (turns === 40)
        clearInterval(timer);
}, 5);
