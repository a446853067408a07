import json, re, decimal, collections

def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

class Node:
    def __init__(self, value, nodes=()):
        self.value, self.nodes = value, nodes
    def total(self):
        return self.value + sum(n.total() for n in self.nodes)

try:
    factorial(30) and {}["missing"]
except KeyError:
    pass
tree = Node(1, [Node(2), Node(3, [Node(4)])])
words = collections.Counter(re.findall(r"[a-z]+", "the quick brown fox and the dog"))
print(tree.total(), json.dumps(sorted(words.items())), decimal.Decimal(2) ** -3, "%.3f" % 2.5)
