import sys, time

def leaf(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

def middle(n):
    return leaf(n) + sum(sorted(range(n)))

def main():
    end = time.monotonic() + 3
    while time.monotonic() < end:
        middle(300)

main()
